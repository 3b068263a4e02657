package classify_test

import (
	"strings"

	"github.com/memkernel/memkernel/writepath/classify"
)

// example is a text with all that should be found in it.
type example struct {
	text string
	want []wanted
	// class is what a text without a want is easily taken for.
	class string
}

// wanted is a kind of finding, or a label, with the text that it must cover.
type wanted struct{ kind, value string }

// is makes an example with one finding: § in the text stands for the value.
func is(kind, text, value string) example {
	return example{text: strings.Replace(text, "§", value, 1), want: []wanted{{kind, value}}}
}

// both makes an example with two findings: ¶ stands for the second value.
func both(kind, kind2, text, value, value2 string) example {
	e := is(kind, text, value)
	e.text = strings.Replace(e.text, "¶", value2, 1)
	e.want = append(e.want, wanted{kind2, value2})
	return e
}

// imitating makes an example that imitates instructions and has no finding.
func imitating(text string) example {
	return example{text: text, want: []wanted{{string(classify.ImitatesInstructions), ""}}}
}

// not makes an example in which nothing is to be found.
func not(class, text string) example { return example{text: text, class: class} }
