package classify_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/classify"
)

// sample draws a key of a shape, with the most characters of every run or with the least.
func sample(pattern string, most bool) string {
	sets := map[byte]string{
		'd': digits, 'x': hex, 'b': base32, 'l': lower + upper, 'm': digits + lower, 'c': digits + upper,
		'a': alnum, 'w': alnum + "_", 'u': urlChars, 'v': urlChars + ".", 'z': b64Chars,
	}
	var b strings.Builder
	for pattern != "" {
		literal, rest, _ := strings.Cut(pattern, "{")
		spec, after, _ := strings.Cut(rest, "}")
		b.WriteString(literal)
		if spec != "" {
			least, greatest, ranged := strings.Cut(spec[1:], "-")
			n, _ := strconv.Atoi(least)
			if ranged && most {
				n, _ = strconv.Atoi(greatest)
			}
			// A letter at the end, so that no sentence's full stop is part of the key.
			b.WriteString(draw(sets[spec[0]], n-1, pattern) + draw(strings.Trim(sets[spec[0]], "_-.+/"), 1, pattern))
		}
		pattern = after
	}
	return b.String()
}

// Every shape of the table is found in a sentence, whole and as its kind, and is not found
// when it is a character short or goes on.
func TestShapes(t *testing.T) {
	t.Parallel()
	c := classify.New()
	for _, shape := range classify.Shapes() {
		kind, pattern := classify.Kind(shape[0]), shape[1]
		for _, most := range []bool{false, true} {
			key := sample(pattern, most)
			text := "We use " + key + ", for now."
			require.Equal(t, []classify.Finding{{Kind: kind, Start: 7, End: 7 + len(key)}}, c.Classify(text).Findings, "%s: %s", pattern, key)
		}
		for _, f := range c.Classify("We use " + sample(pattern, false) + "_x, for now.").Findings {
			require.NotEqual(t, 7+len(sample(pattern, false)), f.End, "%s goes on", pattern)
		}
	}
}

// One wrong digit, and a number with a check digit is none.
func TestWrongDigit(t *testing.T) {
	t.Parallel()
	c := classify.New()
	unchecked := map[string]bool{"us_ssn": true, "gb_nino": true, "dk_cpr": true, "in_pan": true}
	tried := 0
	for _, e := range corpus() {
		for _, w := range e.want {
			class := classify.Kind(w.kind).Class()
			if class != classify.ClassCard && class != classify.ClassAccount && class != classify.ClassNationalID || unchecked[w.kind] {
				continue
			}
			tried++
			i := strings.LastIndexAny(w.value, digits)
			wrong := w.value[:i] + string('0'+(w.value[i]-'0'+1)%10) + w.value[i+1:]
			for _, f := range c.Classify(strings.Replace(e.text, w.value, wrong, 1)).Findings {
				require.NotEqual(t, classify.Kind(w.kind), f.Kind, "%s for %s", wrong, w.value)
			}
		}
	}
	require.Greater(t, tried, 90)
}
