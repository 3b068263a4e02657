package lexical

import (
	"strings"
	"unicode/utf8"
)

// stemHindi removes one inflectional ending (gender, number, case, tense) from a Hindi
// word, the longest that leaves two characters, after dropping the nukta and reducing
// chandrabindu to anusvara, which writers use interchangeably.
func stemHindi(word string) string {
	if strings.ContainsAny(word, "\u093C\u0901") {
		word = strings.ReplaceAll(word, "\u093C", "")
		word = strings.ReplaceAll(word, "\u0901", "\u0902")
	}
	for n := 4; n >= 1; n-- {
		for end := range strings.FieldsSeq(hindiEndings(n)) {
			rest, found := strings.CutSuffix(word, end)
			if found && utf8.RuneCountInString(rest) >= 2 {
				return rest
			}
		}
	}
	return word
}

// hindiEndings lists the endings of n characters.
func hindiEndings(n int) string {
	switch n {
	case 4:
		return "ियों ियां ियाँ ाओं ाएं ुओं ुएं ेंगे ेंगी ऊंगा ऊंगी ूंगा ूंगी"
	case 3:
		return "ाओ ाएं ाने ाता ाती ाते ाया ाई ाए एगा एगी ोगे ोगी ेगा ेगी िया"
	case 2:
		return "ों ें ीं ओं एं ना नी ने ता ती ते कर ां"
	case 1:
		return "ा ि ी ु ू े ो"
	}
	return ""
}

// stripParticle removes one trailing case particle from a Korean word, provided a
// syllable is left. It errs on the side of cutting: the whole word and its pairs are
// terms as well.
func stripParticle(word string) string {
	for _, list := range [...]string{
		"에서는 으로는 에게서 까지는 부터는 한테서",
		"에서 에게 으로 까지 부터 처럼 보다 하고 이랑 한테 께서 이나 라고 이며 에는 에도",
		"은 는 이 가 을 를 의 에 도 로 와 과 만 랑",
	} {
		for p := range strings.FieldsSeq(list) {
			if rest, found := strings.CutSuffix(word, p); found && rest != "" {
				return rest
			}
		}
	}
	return word
}
