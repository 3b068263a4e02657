package conflict

import (
	"slices"
	"strings"
)

// attribute is something of which everything has one value at most, by what it is and not by
// how people usually are. The list is short on purpose: a person can have two homes, two jobs,
// two favourite colours and two passports.
type attribute int

const (
	birthDate attribute = iota + 1
	bloodType
)

// claim is a sentence read as "the attribute of the subject is the value".
type claim struct {
	attribute attribute
	subject   string
	date      date
	blood     blood
}

// readClaim reads the frames below, S being a name:
//
//	S's birthday is D          S's date of birth is D     the birthday of S is D
//	the date of birth of S is D                           S was born on D
//	S's blood type (group) is B                           S has blood type (group) B
func readClaim(s sentence) (claim, bool) {
	w := s.lower
	if i := index(w, "was", "born", "on"); i > 0 {
		return dated(w[:i], w[i+3:])
	}
	if i := index(w, "has", "blood", "type"); i > 0 {
		return typed(w[:i], w[i+3:])
	}
	if i := index(w, "has", "blood", "group"); i > 0 {
		return typed(w[:i], w[i+3:])
	}
	is := slices.Index(w, "is")
	if is < 0 {
		return claim{}, false
	}
	head, value := w[:is], w[is+1:]
	if len(value) > 0 && value[0] == "on" {
		value = value[1:]
	}
	for _, name := range [][]string{{"birthday"}, {"date", "of", "birth"}} {
		if owner, ok := ownerOf(head, name); ok {
			return dated(owner, value)
		}
		if owner, ok := cutPrefix(head, slices.Concat([]string{"the"}, name, []string{"of"})); ok {
			return dated(owner, value)
		}
	}
	for _, name := range [][]string{{"blood", "type"}, {"blood", "group"}} {
		if owner, ok := ownerOf(head, name); ok {
			return typed(owner, value)
		}
	}
	return claim{}, false
}

func dated(owner, value []string) (claim, bool) {
	d, ok := parseDate(value)
	name, known := ownerName(owner)
	return claim{attribute: birthDate, subject: name, date: d}, ok && known
}

func typed(owner, value []string) (claim, bool) {
	b, ok := parseBlood(value)
	name, known := ownerName(owner)
	return claim{attribute: bloodType, subject: name, blood: b}, ok && known
}

// ownerOf returns S of "S's name".
func ownerOf(head, name []string) ([]string, bool) {
	n := len(head) - len(name)
	if n < 1 || !slices.Equal(head[n:], name) {
		return nil, false
	}
	owner := slices.Clone(head[:n])
	last := &owner[n-1]
	stem, ok := strings.CutSuffix(*last, "'s")
	if !ok {
		stem, ok = strings.CutSuffix(*last, "s'")
		stem += "s"
	}
	if !ok || stem == "" || stem == "s" {
		return nil, false
	}
	*last = stem
	return owner, true
}

// ownerName returns what stands for S, if that names somebody; of "Ana's dog" there may be two.
func ownerName(owner []string) (string, bool) {
	if len(owner) > 0 && owner[0] == "the" && len(owner) == 2 && owner[1] == "user" {
		owner = owner[1:]
	}
	if len(owner) == 0 || len(owner) > maxSubjectWords {
		return "", false
	}
	for _, w := range owner {
		if pronoun(w) || strings.Contains(w, "'") {
			return "", false
		}
	}
	return strings.Join(owner, " "), true
}

// against returns how the incoming claim stands to another; only claims of one attribute of
// one subject are comparable.
func (c claim) against(other claim) Relation {
	if c.attribute != other.attribute || c.subject != other.subject {
		return Undecided
	}
	if c.attribute == bloodType {
		return c.blood.against(other.blood)
	}
	return c.date.against(other.date)
}

// blood is a blood type; rhesus is empty if it was not said.
type blood struct{ group, rhesus string }

func parseBlood(value []string) (blood, bool) {
	if len(value) == 0 || len(value) > 2 {
		return blood{}, false
	}
	var b blood
	b.group = value[0]
	if g, ok := strings.CutSuffix(b.group, "+"); ok {
		b = blood{g, "+"}
	} else if g, ok := strings.CutSuffix(b.group, "-"); ok {
		b = blood{g, "-"}
	}
	if len(value) == 2 {
		sign := map[string]string{"positive": "+", "negative": "-"}[value[1]]
		if sign == "" || b.rhesus != "" {
			return blood{}, false
		}
		b.rhesus = sign
	}
	if b.group == "0" {
		b.group = "o"
	}
	return b, slices.Contains([]string{"a", "b", "ab", "o"}, b.group)
}

func (b blood) against(other blood) Relation {
	switch {
	case b.group != other.group, b.rhesus != "" && other.rhesus != "" && b.rhesus != other.rhesus:
		return Contradicts
	case b.rhesus != "" && other.rhesus == "":
		return Refines
	default:
		return Same
	}
}

func index(words []string, want ...string) int {
	for i := range words {
		if _, ok := cutPrefix(words[i:], want); ok {
			return i
		}
	}
	return -1
}

func cutPrefix(words, prefix []string) ([]string, bool) {
	if len(words) < len(prefix) || !slices.Equal(words[:len(prefix)], prefix) {
		return nil, false
	}
	return words[len(prefix):], true
}
