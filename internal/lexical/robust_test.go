package lexical_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/lexical"
)

const sentence = "Yesterday I finally finished painting the old wooden fence behind our summer house, " +
	"and my sister brought her two dogs along so that the children could play with them in the garden."

// Hostile text costs time in proportion to its size, and never a panic. The bound is
// generous, for slow and busy machines: each text takes less than a second on an idle one,
// and quadratic work would take hours.
func TestHostileText(t *testing.T) {
	t.Parallel()
	const n = 1 << 18
	for name, text := range map[string]string{
		"prose":               strings.Repeat(sentence+" ", 4*n/len(sentence)),
		"one token":           strings.Repeat("x", 40*n),
		"one token not ascii": strings.Repeat("ж", 2*n),
		"digits":              strings.Repeat("7", 4*n),
		"separated digits":    strings.Repeat("1,", n),
		"dots":                strings.Repeat("a.", n),
		"underscores":         strings.Repeat("a_", n),
		"humps":               strings.Repeat("aB", n),
		"apostrophes":         strings.Repeat("a'", n),
		"combining marks":     "a" + strings.Repeat("\u0301", n),
		"marks after dots":    strings.Repeat("a."+strings.Repeat("\u0301", 50), n/100),
		"marks alone":         strings.Repeat("\u0301", n),
		"joiners":             strings.Repeat("\u200d", n/2),
		"flags":               strings.Repeat("🇩", n/4),
		"emoji family":        strings.Repeat("👨\u200d", n/7),
		"nul":                 strings.Repeat("\x00", n),
		"invalid":             strings.Repeat("\xff\xfe", n/2),
		"truncated":           strings.Repeat("\xe4\xb8", n/2),
		"han":                 strings.Repeat("漢", n/3),
		"thai":                strings.Repeat("ก้", n/6),
		"hangul":              strings.Repeat("가", n/3),
		"jamo":                strings.Repeat("\u1100\u1161", n/6),
		"ligature":            strings.Repeat("\uFDFA", n/12),
		"arabic":              strings.Repeat("و", n/2),
		"quotes in hebrew":    strings.Repeat("א\"", n/3),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			doc := lexical.Analyze(text)
			query := lexical.Query(text, 64)
			assert.Less(t, time.Since(begin), 2*time.Minute)
			assert.LessOrEqual(t, len(query), 64)
			assert.True(t, slices.IsSortedFunc(doc.Terms, func(x, y lexical.Term) int {
				if x.Hash < y.Hash {
					return -1
				}
				return 1
			}))
		})
	}
}

// Two long tokens that begin alike are two terms.
func TestLongTokensAreWholeTerms(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 500)
	x, y := lexical.Analyze(long+"1"), lexical.Analyze(long+"2")
	require.Len(t, x.Terms, 1)
	require.Len(t, y.Terms, 1)
	assert.NotEqual(t, x.Terms[0].Hash, y.Terms[0].Hash)
	assert.Equal(t, x.Terms[0].Hash, lexical.Query(long+"1", 0)[0].Hash)
}

func TestEquivalentSpellings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, x, y string }{
		{"composed and decomposed", "caf\u00E9 M\u00FCnchen", "cafe\u0301 Mu\u0308nchen"},
		{"full width", "ＡＢＣ １２３", "abc 123"},
		{"ligature", "ﬁnal", "final"},
		{"typographic apostrophe", "Anna’s don’t", "Anna's don't"},
		{"soft hyphen", "mem\u00ADory", "memory"},
		{"case", "STRASSE ΔΡΌΜΟΣ", "straße δρόμος"},
		{"turkish dotted capital", "İzmir", "izmir"},
		{"arabic tatweel", "كتـــاب", "كتاب"},
		{"arabic digits", "٢٠٢٣", "2023"},
		{"thousands", "1,234,567", "1.234.567"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, lexical.Analyze(tc.x), lexical.Analyze(tc.y))
		})
	}
}

// Hashes are stored: these must never change within one Version.
func TestStableHashes(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 1, lexical.Version)
	assert.Equal(t, []lexical.Term{{Hash: goldenRun, TF: 2}}, lexical.Analyze("running runs").Terms)
	assert.Equal(t, []lexical.Term{{Hash: goldenCat, TF: 1}}, lexical.Analyze("猫").Terms)
}

// FNV-1a, 64 bits, of the UTF-8 bytes of "run" and "猫".
const (
	goldenRun int64 = -8524566317707732406
	goldenCat int64 = 2853223995777570639
)

func TestLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"":                    0,
		"one two, three":      3,
		"getUserName":         1,
		"user@example.com":    2,
		"日本語":                 2,
		"猫":                   1,
		"고양이를 좋아합니다":          2,
		"7.5.2023":            1,
		"the the the":         3,
		"Python入門 and 猫 ราคา": 7,
	} {
		assert.Equal(t, want, lexical.Analyze(text).Length, "%q: %q", text, lexical.Words(text))
	}
}

func TestQueryBound(t *testing.T) {
	t.Parallel()
	all := lexical.Query(sentence, 0)
	for n := 1; n <= len(all)+1; n++ {
		assert.Equal(t, all[:min(n, len(all))], lexical.Query(sentence, n), "a smaller bound gives a prefix")
	}
	assert.Empty(t, lexical.Query("", 5))
	assert.Empty(t, lexical.Query("?!", 5))
}

func TestConcurrentCallsAgree(t *testing.T) {
	t.Parallel()
	texts := []string{sentence, "Die Häuser am Fluss wurden verkauft", "猫が好きです", "Кошки живут в доме", "고양이를", ""}
	var docs []lexical.Doc
	var queries [][]lexical.Term
	for _, s := range texts {
		docs, queries = append(docs, lexical.Analyze(s)), append(queries, lexical.Query(s, 20))
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 200 {
				at := (i + worker) % len(texts)
				assert.Equal(t, docs[at], lexical.Analyze(texts[at]))
				assert.Equal(t, queries[at], lexical.Query(texts[at], 20))
			}
		})
	}
	wg.Wait()
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{
		sentence, "Häuser don't 9router U.S.A. user_name@example.com 07.05.2023", "猫が好き ﾃｽﾄ 고양이를 ราคา",
		"a\u0301\u0308 \x00\xff İstanbul'da l'été", "कुत्ते கதைகள் كتابها собаками", "aB1'2_3.4:5",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc := lexical.Analyze(text)
		require.Equal(t, doc, lexical.Analyze(text))
		sum := 0
		for i, term := range doc.Terms {
			require.Positive(t, term.TF)
			require.True(t, i == 0 || doc.Terms[i-1].Hash < term.Hash)
			sum += term.TF
		}
		words := lexical.Words(text)
		require.Len(t, words, sum)
		require.LessOrEqual(t, doc.Length, sum)

		inDoc, inQuery := map[int64]bool{}, map[int64]bool{}
		for _, d := range doc.Terms {
			inDoc[d.Hash] = true
		}
		query := lexical.Query(text, 0)
		for _, q := range query {
			require.False(t, inQuery[q.Hash], "a term twice")
			require.Positive(t, q.TF)
			require.Positive(t, q.Group)
			inQuery[q.Hash] = true
		}
		lexical.Walk(text, func(term []byte, function bool) bool {
			require.NotEmpty(t, term)
			h := lexical.TermHash(string(term))
			require.True(t, inDoc[h])
			require.True(t, function || inQuery[h], "a text must find itself: %q", term)
			return true
		})
		require.Equal(t, len(words) > 0, len(query) > 0)
	})
}

func BenchmarkAnalyze(b *testing.B) {
	for name, text := range map[string]string{
		"english":  sentence,
		"german":   "Gestern haben wir endlich den alten Holzzaun hinter unserem Sommerhaus gestrichen, und meine Schwester brachte ihre zwei Hunde mit, damit die Kinder im schönen Garten mit ihnen spielen konnten.",
		"japanese": "昨日は夏の家の後ろにある古い木の柵をやっと塗り終えました。妹が犬を二匹連れてきたので、子供たちは庭で遊びました。",
		"megabyte": strings.Repeat(sentence+" ", (1<<20)/len(sentence)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				lexical.Analyze(text)
			}
		})
	}
}

func BenchmarkQuery(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		lexical.Query("When did Caroline's sister finish painting the old fence?", 64)
	}
}
