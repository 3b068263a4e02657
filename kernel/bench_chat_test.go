package kernel_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// chat makes turns of conversations: as long as those of real ones (123 characters on average, half
// of them under 110), with as many names (two turns in five have one or more), and with
// names that come up about as unevenly. No two turns are the same.
type chat struct {
	rng   *rand.Rand
	names *rand.Zipf
	words *rand.Zipf
	said  int
}

func newChat() *chat {
	rng := rand.New(rand.NewPCG(3, 4))
	return &chat{
		rng: rng, names: rand.NewZipf(rng, 1.2, 4, uint64(len(chatNames())-1)), words: rand.NewZipf(rng, 1.1, 8, 20_000),
	}
}

// chatNames are whom and what the turns are about, the most talked about first.
func chatNames() []string {
	given := strings.Fields(`Clara Hugo Mira Tomas Ines Felix Nadia Oscar Paula Ruben Selma Viktor Wanda Igor Lena Marco Nora Pablo
		Rosa Stefan Tessa Yusuf Zoe Anton Bianca Carlos Doris Emil Fatima Georg`)
	family := strings.Fields(`Winter Falk Moreno Lindqvist Okafor Brandt Castillo Novak Ritter Sato Tanaka Weber`)
	places := strings.Fields(`Lisbon Oslo Toronto Nairobi Kyoto Denver Porto Vienna Hamburg Seattle`)
	var out []string
	for i, g := range given {
		out = append(out, g)
		if i < len(places) {
			out = append(out, places[i])
		}
	}
	for i, f := range family {
		for j := range 24 {
			out = append(out, given[(i*7+j)%len(given)]+" "+f)
		}
	}
	return out
}

// turn returns what somebody says next.
func (c *chat) turn() string {
	c.said++
	names := 0
	if p := c.rng.IntN(100); p < 42 {
		names = 1 + p/38
	}
	return c.turnNaming(names, 1+c.rng.IntN(3))
}

// turnNaming returns a turn of some sentences that has so many names.
func (c *chat) turnNaming(names, sentences int) string {
	opening := []string{
		"yeah I was thinking about the %s again", "that sounds like a really good plan for the %s", "we could do the %s tomorrow if the weather holds",
		"I am so glad that you liked the %s", "have you ever tried to make a %s on your own", "it took me ages to find the right %s",
	}
	naming := []string{"yesterday I talked to %s about the %s", "it was great to see %s again and the %s too", "maybe we should ask %s what the %s was like"}
	all := chatNames()
	var s strings.Builder
	for i := range max(sentences, names) {
		if i > 0 {
			s.WriteByte(' ')
		}
		begun := s.Len()
		if i < names {
			fmt.Fprintf(&s, naming[c.rng.IntN(len(naming))], all[c.names.Uint64()], c.word())
		} else {
			fmt.Fprintf(&s, opening[c.rng.IntN(len(opening))], c.word())
		}
		for range c.rng.IntN(4) {
			s.WriteString(" and the " + c.word())
		}
		sentence := s.String()[begun:]
		rest := s.String()[:begun] + strings.ToUpper(sentence[:1]) + sentence[1:] + "."
		s.Reset()
		s.WriteString(rest)
	}
	return fmt.Sprintf("%s (%d)", s.String(), c.said)
}

// word returns a word, spelt as corpus does.
func (c *chat) word() string {
	n := c.words.Uint64()
	return string([]byte{
		"bcdfghjklmnprstvz"[n%17], "aeiou"[n/17%5], "bcdfghjklmnprstvz"[n/85%17], "aeiou"[n/1445%5], "bcdfghjklmnprstvz"[n/7225%17],
	})
}
