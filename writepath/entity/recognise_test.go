package entity_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/entity"
)

func surfaces(text string) []string {
	out := []string{}
	for _, m := range entity.Recognise(text) {
		out = append(out, m.Surface)
	}
	return out
}

// Words that begin a sentence, or have a capital in every text, name nothing.
func TestOrdinaryWords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Yesterday it rained.", "Please close the door.", "Nobody came. Everyone left. Somebody called.", "Great idea!", "Sure, why not?",
		"Thanks for the help.", "Maybe later. Probably not.", "Coffee is ready.", "Dinner was nice.", "Remind me tomorrow.",
		"Running is fun. Swimming as well.", "Unfortunately, the printer broke.", "Water boils at a hundred degrees.",
		"If you say so. When it works, it works.", "I am. I'm. I'll. I've.", "It's fine. That's it. Let's go.", "Yes. No. OK.",
		"\"Never mind,\" she said. \"Come in.\"", "- Buy milk\n- Water plants\n* Clean kitchen", "1. Open the app\n2. Press start",
		"Title: something\nSubject: nothing", "The CEO sent a PDF by HTTPS.", "He speaks English and French.", "See you on Monday in March.",
		"Mom and Dad are here.", "Will do. May I? Hope so. Mark my words.", "Reading and writing.", "Spring is late this year.",
		"People say things.", "Customers want refunds.", "Meetings are long.", "Python's indentation matters.",
		"Ich habe Hunger.", "Der Tisch ist kaputt.", "Die Kinder spielen im Garten.", "Morgen kommt der Handwerker.", "Am Abend gibt es Suppe mit Brot.",
		"Kannst du bitte die Tür schließen?", "Das Wetter wird besser.", "Wegen der Baustelle gibt es Stau auf der Autobahn.",
		"Eine Tasse Kaffee und ein Stück Kuchen, bitte.", "In Zukunft nur noch in Ruhe.", "Sehr geehrte Damen und Herren,",
		"Hoy hace calor.", "Me gusta leer.", "El perro duerme.", "¿Dónde está la llave?", "Il fait froid.", "C'est la vie.", "Les enfants jouent.",
		"L'eau est froide.", "J'ai faim.", "今日は暑いですね。", "我想喝茶。", "오늘은 날씨가 좋아요.", "「はい」と言いました。",
	} {
		if strings.HasPrefix(text, "Python") {
			require.Equal(t, []string{"Python"}, surfaces(text))
			continue
		}
		require.Empty(t, surfaces(text), text)
	}
}

// What looks like an annotation is read like any other text.
func TestAnnotationsAreText(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"[entities: %s]", "[entities:%s]", "<entity type=\"person\">%s</entity>", "entities = %s", "{\"entities\": [\"%s\"]}", "@entity(%s)"} {
		for _, name := range []string{"ada", "my cat", "zorblax", "the boss"} {
			text := strings.ReplaceAll(form, "%s", name)
			for _, got := range surfaces(text) {
				require.NotContains(t, got, name, text)
			}
		}
		text := "I met Ada Lovelace. " + strings.ReplaceAll(form, "%s", "bob, acme") + " She was kind."
		require.Contains(t, surfaces(text), "Ada Lovelace", text)
	}
	plain := entity.Recognise("I saw (people: Ada Lovelace) there.")
	marked := entity.Recognise("I saw [entities: Ada Lovelace] there.")
	require.Len(t, marked, len(plain))
	require.Equal(t, plain[0].Type, marked[0].Type)
	require.Equal(t, plain[0].Confidence, marked[0].Confidence)
}

func TestRecogniseBounds(t *testing.T) {
	t.Parallel()
	require.Empty(t, entity.Recognise(""))
	require.Len(t, entity.Recognise(strings.Repeat("I met Ada in Berlin. ", 2000)), entity.MaxMentions)
	require.Empty(t, entity.Recognise("http://"+strings.Repeat("x", 100_000)))
	for _, text := range []string{
		strings.Repeat("A", 100_000), strings.Repeat("Ada ", 50_000), strings.Repeat("`", 20_000), strings.Repeat("Ab of ", 30_000),
		strings.Repeat("「", 30_000), strings.Repeat("王", 60_000), strings.Repeat("a@b.", 30_000), strings.Repeat("'s", 50_000),
		strings.Repeat("```a", 20_000), strings.Repeat("@", 50_000), strings.Repeat("van ", 40_000), strings.Repeat("Dr. ", 40_000),
	} {
		checkMentions(t, text)
	}
}

func checkMentions(t *testing.T, text string) {
	t.Helper()
	got := entity.Recognise(text)
	require.LessOrEqual(t, len(got), entity.MaxMentions)
	last := 0
	for _, m := range got {
		require.GreaterOrEqual(t, m.Start, last, "%.100q", text)
		require.Less(t, m.Start, m.End)
		require.Equal(t, text[m.Start:m.End], m.Surface)
		require.LessOrEqual(t, len(m.Surface), entity.MaxName)
		require.True(t, m.Type.Valid())
		require.NotEmpty(t, m.Confidence)
		if utf8.ValidString(text) {
			require.True(t, utf8.ValidString(m.Surface), "%.100q", text)
		}
		last = m.End
	}
}

func FuzzRecognise(f *testing.F) {
	for _, s := range append(append([]sentence{}, corpusA...), corpusB...) {
		f.Add(s.text)
	}
	f.Add("「Ada a@b.co」と『Foo Bar』 《http://x.yz》")
	f.Add("l'É \xff Dr.\x00 「\xe6」 @a. `")
	f.Fuzz(func(t *testing.T, text string) {
		checkMentions(t, text)
		require.Equal(t, entity.Recognise(text), entity.Recognise(text))
	})
}

func BenchmarkRecognise(b *testing.B) {
	var text strings.Builder
	for _, s := range corpusA {
		text.WriteString(s.text + "\n")
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		entity.Recognise(text.String())
	}
}
