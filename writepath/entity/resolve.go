package entity

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memkernel/memkernel/kernel/mem"
)

// maxKey bounds the canonical keys that are kept, in bytes: some characters fold to many.
const maxKey = 2 * MaxName

// Link says which entity a mention means.
type Link struct {
	Mention Mention
	// Entity is the one that the name led to, zero for a new one. Root is what that has been
	// merged into, itself if nothing. A link keeps the first, so that a split finds it again.
	Entity, Root mem.ID
	// Name, Key and Type are those of the entity. Links to a new entity with the same Key and
	// Type are to one.
	Name, Key string
	Type      Type
	// Reason says why it is this one, "" for a new one.
	Reason Reason
	// NewID is what the entity is to be called if it is made, zero if that is for whoever makes it.
	NewID mem.ID
	// Suggestions are others that may be the same. Nothing was done about them.
	Suggestions []Candidate
}

// IsNew reports that the entity has to be made.
func (l *Link) IsNew() bool { return l.Entity.IsZero() }

// Learns reports that the mention's name is new for its entity, and would be worth keeping as
// an alias in the namespace of whoever wrote the text.
func (l *Link) Learns() bool { return !l.IsNew() && !l.Reason.exact() && l.Reason != GivenName }

// Resolve says for every mention of one text which of the known entities it means, or that it
// means a new one. A name that is an entity's own, its canonical name or an alias, links to
// it; of several the one at home nearest to the caller, the others are suggestions. Another
// form of a name links only if nothing else fits, and a given name alone only if the whole name
// stands in the same text. In every other case the entity is new and what might be meant is a
// suggestion: two entities are never taken for one because a name fits both.
//
// known must be what the caller sees and nothing more; what is not in it cannot be found, nor
// told from what does not exist. Links come in the order of the mentions; a mention without a
// canonical key, or with one of more than 400 bytes, has none. The inputs are not changed.
func Resolve(mentions []Mention, known []Entity) []Link {
	return newIndex(known).resolveAll([][]Mention{mentions})[0]
}

// resolveAll resolves the names in texts that are one: a name that is new in several of them is one
// entity, and what one of them spells out explains the others.
func (x *index) resolveAll(texts [][]Mention) [][]Link {
	type place struct{ text, mention int }
	var order []place
	for i, mentions := range texts {
		for j := range mentions {
			order = append(order, place{i, j})
		}
	}
	// Whole names first: they explain the short ones.
	slices.SortStableFunc(order, func(a, b place) int {
		return cmp.Compare(strings.Count(texts[b.text][b.mention].Surface, " "), strings.Count(texts[a.text][a.mention].Surface, " "))
	})
	links := make([][]*Link, len(texts))
	for i, mentions := range texts {
		links[i] = make([]*Link, len(mentions))
	}
	present := map[int]bool{} // what the texts have named so far
	for _, at := range order {
		links[at.text][at.mention] = x.resolve(texts[at.text][at.mention], present)
	}
	out := make([][]Link, len(texts))
	for i := range links {
		out[i] = make([]Link, 0, len(links[i]))
		for _, l := range links[i] {
			if l != nil {
				out[i] = append(out[i], *l)
			}
		}
	}
	return out
}

func (x *index) resolve(m Mention, present map[int]bool) *Link {
	key := CanonicalKey(m.Surface)
	if key == "" || len(key) > maxKey {
		return nil
	}
	found := x.candidates(key, m.Surface, m.Type)
	if at, reason, ok := x.decide(found, present); ok {
		present[at] = true
		e := &x.known[at]
		l := &Link{Mention: m, Entity: e.ID, Name: e.Name, Key: e.Key, Type: e.Type, Reason: reason}
		if l.IsNew() {
			l.Reason = ""
		} else {
			l.Root = x.root(at)
		}
		l.Suggestions = suggestions(found, at, l.Root)
		return l
	}
	l := &Link{Mention: m, Name: tidy(m.Surface), Key: key, Type: m.Type}
	l.Suggestions = suggestions(found, -1, mem.ID{})
	x.known = append(x.known, Entity{Name: l.Name, Key: key, Type: m.Type})
	x.add(len(x.known) - 1)
	present[len(x.known)-1] = true
	return l
}

// decide chooses among candidates, the best first.
func (x *index) decide(found []ranked, present map[int]bool) (at int, reason Reason, ok bool) {
	if len(found) == 0 {
		return 0, "", false
	}
	best := found[0]
	rivals := false
	for _, c := range found[1:] {
		if same(best, c) {
			continue
		}
		if !best.Reason.exact() || compare(best, c) == 0 {
			rivals = true
		}
	}
	if rivals {
		return 0, "", false
	}
	if best.Reason.links() || best.Reason == GivenName && present[best.at] {
		return best.at, best.Reason, true
	}
	return 0, "", false
}

// same reports that two candidates are one entity by now.
func same(a, b ranked) bool { return a.at == b.at || !a.root.IsZero() && a.root == b.root }

// suggestions returns what else was found and is on record.
func suggestions(found []ranked, at int, root mem.ID) []Candidate {
	var out []Candidate
	for _, c := range found {
		if c.at != at && !c.Entity.IsZero() && (root.IsZero() || c.root != root) {
			out = append(out, c.Candidate)
		}
	}
	return out
}

// tidy returns a name as it is shown: white space collapsed.
func tidy(name string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(name, "\uFFFD")), " ")
}
