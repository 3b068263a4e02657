package locomo

import (
	"regexp"
	"slices"
	"strings"
)

// reference finds the ids of turns in evidence. Those of the data set are of the form "D1:3", and
// it has some that were written otherwise: "D1:3; D2:4", "D1:3 D2:4", "D:1:3", "D1:03".
var reference = regexp.MustCompile(`(?i)\bD:?0*([0-9]+):0*([0-9]+)\b`)

// whole is an entry that is nothing but one id.
var whole = regexp.MustCompile(`^` + reference.String() + `$`)

// canonical is the one form of an id, which is itself if it is not like those of the data set.
func canonical(id string) string {
	id = strings.TrimSpace(id)
	if m := whole.FindStringSubmatch(id); m != nil {
		return form(m)
	}
	return id
}

func form(m []string) string { return "D" + m[1] + ":" + m[2] }

// Evidence returns the turns that a question's evidence names, each once and in the order in which
// they were said, and what in it names no turn.
func (c *Conversation) Evidence(q *Question) (turns []int, unknown []string) {
	for _, entry := range q.Evidence {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		ids := []string{canonical(entry)}
		if found := reference.FindAllStringSubmatch(entry, -1); found != nil {
			ids = ids[:0]
			for _, m := range found {
				ids = append(ids, form(m))
			}
		}
		for _, id := range ids {
			if turn, ok := c.byID[id]; ok {
				turns = append(turns, turn)
			} else {
				unknown = append(unknown, id)
			}
		}
	}
	slices.Sort(turns)
	return slices.Compact(turns), unknown
}
