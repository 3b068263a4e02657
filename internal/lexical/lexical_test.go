package lexical_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/lexical"
)

// shared returns how many of the query's words (groups) have a term in the document.
func shared(doc lexical.Doc, query []lexical.Term) int {
	groups := map[int]bool{}
	for _, q := range query {
		_, found := slices.BinarySearchFunc(doc.Terms, q.Hash, func(t lexical.Term, h int64) int {
			switch {
			case t.Hash < h:
				return -1
			case t.Hash > h:
				return 1
			}
			return 0
		})
		if found {
			groups[q.Group] = true
		}
	}
	return len(groups)
}

// A query of one or two words, too short to tell its language, finds another inflection
// of them in a document.
func TestInflectedQueryFindsDocument(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, doc, query string }{
		{"english verb", "She runs every morning before work.", "running"},
		{"english plural", "We adopted two puppies last week.", "puppy"},
		{"english possessive", "Caroline's necklace is from Sweden.", "Caroline"},
		{"english in short text", "running", "runs"},
		{"german umlaut plural", "Die Häuser am Fluss wurden im Herbst verkauft.", "häusern"},
		{"german verb", "Wir haben gestern lange in der Stadt gearbeitet und gekocht.", "gearbeitete"},
		{"german without umlaut", "Er wohnt seit zwei Jahren in München.", "munchen"},
		{"german umlaut written out", "Er wohnt seit zwei Jahren in München.", "Muenchen"},
		{"german umlaut put back", "Er wohnt seit zwei Jahren in Muenchen.", "München"},
		{"german sharp s", "Die Straße ist sehr lang.", "STRASSE"},
		{"german name in english query", "Herr Schneider ist nicht mehr bei uns.", "Schneider"},
		{"french plural", "Les réservations sont faites pour la semaine prochaine.", "réservation"},
		{"french elision", "L'hôtel était près de l'église.", "hotel eglise"},
		{"french verb", "Il mangeait toujours dans ce restaurant.", "manger"},
		{"spanish plural", "Le gustan las canciones de su hermana.", "cancion"},
		{"spanish verb", "Ellos trabajaron en la oficina de Madrid.", "trabajando"},
		{"italian plural", "I ragazzi preferiscono giocare nel giardino.", "ragazzo"},
		{"portuguese plural", "As reuniões são sempre na segunda-feira.", "reuniões"},
		{"portuguese noun", "Ela comprou muitos livros para os meninos.", "livro menino"},
		{"dutch plural", "De katten slapen in het huis van mijn moeder.", "kat"},
		{"dutch verb", "Wij hebben de hele dag gewerkt.", "gewerkte"},
		{"swedish definite", "Hunden sover i köket och vill inte gå ut.", "hund"},
		{"danish plural", "Bøgerne ligger på bordet, og de er ikke læst.", "bøger"},
		{"norwegian definite", "Bilene står ikke ved huset, de er hos naboen.", "bil"},
		{"finnish case", "Hän asuu talossa ja on siellä yksin.", "talo"},
		{"hungarian case", "A barátom házában van egy nagy kutya.", "ház"},
		{"romanian article", "Pisica este în casa vecinului meu și nu vrea să iasă.", "vecin"},
		{"turkish plural", "Kitaplar masanın üzerinde ve çok eski.", "kitap"},
		{"turkish capital", "İstanbul'da yaşıyor.", "istanbul"},
		{"russian case", "Она живёт в большом городе с собаками.", "собака"},
		{"russian yo", "Всё началось с ёлки.", "елка"},
		{"arabic article", "اشتريت الكتاب من السوق", "كتاب"},
		{"arabic vowels", "كَتَبَ الطالب الدرس", "كتب"},
		{"hindi plural", "लड़कियाँ बाज़ार जा रही हैं", "लड़की"},
		{"japanese", "昨日は東京で寿司を食べました。", "寿司"},
		{"japanese one character", "猫が好きです", "猫"},
		{"japanese katakana half width", "コーヒーを飲む", "ｺｰﾋｰ"},
		{"chinese", "我喜欢在北京吃烤鸭", "北京烤鸭"},
		{"chinese one character", "他有一只狗", "狗"},
		{"korean particle", "고양이를 좋아합니다", "고양이"},
		{"korean one syllable", "새 책을 샀다", "책"},
		{"korean and latin", "API를 호출합니다", "api"},
		{"thai", "ฉันชอบกินข้าวผัดที่ตลาด", "ข้าวผัด"},
		{"thai short", "ปีใหม่นี้จะไปเชียงใหม่", "ปี"},
		{"greek accents and final sigma", "Ο ΔΡΟΜΟΣ είναι μεγάλος", "δρόμος"},
		{"hebrew points", "שָׁלוֹם לכולם", "שלום"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			words := len(strings.Fields(tc.query))
			got := shared(lexical.Analyze(tc.doc), lexical.Query(tc.query, 64))
			assert.GreaterOrEqual(t, got, words, "doc %q query %q", lexical.Words(tc.doc), lexical.Words(tc.query))
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \t\n.,;!", nil},
		{"猫", []string{"猫"}},
		{"日本語", []string{"日本", "日", "本語", "本", "語"}},
		{"1,000 and 1.000 and 3.14", []string{"1000", "and", "1000", "and", "3.14", "3", "14"}},
		{"2023-05-07", []string{"2023", "5", "7"}},
		{"on 07.05.2023", []string{"on", "07.05.2023", "7", "5", "2023"}},
		{"May 7th, ２０２３ ٣", []string{"may", "7", "2023", "3"}},
		{"9router", []string{"9router", "9", "router"}},
		{"user_name getUserName HTTPServer PDFs", []string{
			"user_name", "user", "name", "getusername", "get", "user", "name", "httpserver", "http", "server", "pdf",
		}},
		{"anna.b@example.com", []string{"anna.b", "anna", "example.com", "exampl", "com"}},
		{"U.S.A. and e.g.", []string{"usa", "and", "eg"}},
		{"don't Caroline’s we'll O'Brien", []string{"dont", "carolin", "we", "obrien"}},
		{"a\x00b\xff\xfec", []string{"a", "b", "c"}},
		{"🎉 party", []string{"🎉", "parti"}},
	} {
		assert.Equal(t, tc.want, lexical.Words(tc.text), "%q", tc.text)
	}
}

// A text finds itself: every term of a document, save function words, is a term of the
// same text as a query.
func TestQueryCoversDocument(t *testing.T) {
	t.Parallel()
	text := "Häuser schön, think? 猫が好き getUserName 1,000 고양이를 собаки"
	doc := lexical.Analyze(text)
	require.NotEmpty(t, doc.Terms)
	have := map[int64]bool{}
	for _, q := range lexical.Query(text, 0) {
		have[q.Hash] = true
	}
	for _, d := range doc.Terms {
		assert.True(t, have[d.Hash])
	}
}

func TestQueryFunctionWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []string // main forms, first in the result
	}{
		{"left out beside content", "What did the dog eat?", []string{"dog", "eat"}},
		{"kept when alone", "who are you", []string{"who", "are", "you"}},
		{"kept as a name", "What did Will say?", []string{"will", "say"}},
		{"kept in capitals", "the IT department", []string{"it", "depart"}},
		{"german", "Was hat der Hund gefressen?", []string{"hund", "gefress"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := lexical.Query(tc.text, 0)
			require.GreaterOrEqual(t, len(got), len(tc.want))
			for i, w := range tc.want {
				assert.Equal(t, lexical.TermHash(w), got[i].Hash, w)
			}
			groups := map[int]bool{}
			for _, q := range got {
				groups[q.Group] = true
			}
			assert.Len(t, groups, len(tc.want))
		})
	}
}
