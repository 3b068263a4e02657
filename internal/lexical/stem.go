package lexical

import (
	"github.com/blevesearch/snowballstem"
	sbarabic "github.com/blevesearch/snowballstem/arabic"
	sbdanish "github.com/blevesearch/snowballstem/danish"
	sbdutch "github.com/blevesearch/snowballstem/dutch"
	sbenglish "github.com/blevesearch/snowballstem/english"
	sbfinnish "github.com/blevesearch/snowballstem/finnish"
	sbfrench "github.com/blevesearch/snowballstem/french"
	sbgerman "github.com/blevesearch/snowballstem/german"
	sbhungarian "github.com/blevesearch/snowballstem/hungarian"
	sbitalian "github.com/blevesearch/snowballstem/italian"
	sbnorwegian "github.com/blevesearch/snowballstem/norwegian"
	sbportuguese "github.com/blevesearch/snowballstem/portuguese"
	sbromanian "github.com/blevesearch/snowballstem/romanian"
	sbrussian "github.com/blevesearch/snowballstem/russian"
	sbspanish "github.com/blevesearch/snowballstem/spanish"
	sbswedish "github.com/blevesearch/snowballstem/swedish"
	sbtamil "github.com/blevesearch/snowballstem/tamil"
	sbturkish "github.com/blevesearch/snowballstem/turkish"
)

// stemmer holds the scratch state of the Snowball programs. It is not safe for
// concurrent use; one belongs to each analyzer.
type stemmer struct {
	env *snowballstem.Env
}

// stem returns the stem of a folded word in language l. A word the program cannot handle
// is its own stem: a broken stemmer must cost recall, never a write.
func (s *stemmer) stem(word string, l language) (out string) {
	if l == hindi {
		return stemHindi(word)
	}
	defer func() {
		if recover() != nil {
			s.env = snowballstem.NewEnv("")
			out = word
		}
	}()
	s.env.SetCurrent(word)
	snowball(s.env, l)
	if out = s.env.Current(); out == "" {
		return word
	}
	return out
}

func snowball(env *snowballstem.Env, l language) {
	switch l {
	case english:
		sbenglish.Stem(env)
	case spanish:
		sbspanish.Stem(env)
	case french:
		sbfrench.Stem(env)
	case german:
		sbgerman.Stem(env)
	case portuguese:
		sbportuguese.Stem(env)
	case italian:
		sbitalian.Stem(env)
	case dutch:
		sbdutch.Stem(env)
	case turkish:
		sbturkish.Stem(env)
	case romanian:
		sbromanian.Stem(env)
	case swedish:
		sbswedish.Stem(env)
	case danish:
		sbdanish.Stem(env)
	case norwegian:
		sbnorwegian.Stem(env)
	case finnish:
		sbfinnish.Stem(env)
	case hungarian:
		sbhungarian.Stem(env)
	case russian:
		sbrussian.Stem(env)
	case arabic:
		sbarabic.Stem(env)
	case tamil:
		sbtamil.Stem(env)
	case hindi: // not a Snowball program
	}
}
