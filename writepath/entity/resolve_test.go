package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/entity"
)

func id(n byte) mem.ID { return mem.ID{15: n} }

func ns(t *testing.T, path string) acl.Namespace {
	t.Helper()
	n, err := acl.ParseNamespace(path)
	require.NoError(t, err)
	return n
}

func known(t *testing.T, n byte, path, name string, kind entity.Type) entity.Entity {
	t.Helper()
	return entity.Entity{ID: id(n), Namespace: ns(t, path), Name: name, Key: entity.CanonicalKey(name), Type: kind}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	ada := known(t, 1, "acme", "Ada Lovelace", entity.Person)
	ada.Aliases = []entity.Alias{{Name: "The Countess", Key: "countess", Namespace: ns(t, "acme")}}
	unesco := known(t, 2, "acme", "United Nations Educational Organization", entity.Organization)
	mueller := known(t, 3, "acme", "Jörg Müller", entity.Person)
	short := known(t, 4, "acme", "Turing", entity.Person)
	tolkien := known(t, 5, "acme", "John Ronald Tolkien", entity.Person)
	all := []entity.Entity{ada, unesco, mueller, short, tolkien}
	for name, want := range map[string][]entity.Candidate{
		"Ada Lovelace":     {{Entity: id(1), Reason: entity.SameName}},
		"Dr. Ada Lovelace": {{Entity: id(1), Reason: entity.SameName}},
		"the countess":     {{Entity: id(1), Reason: entity.KnownAlias}},
		"Ada L.":           {{Entity: id(1), Reason: entity.Initials}},
		"A. Lovelace":      {{Entity: id(1), Reason: entity.Initials}},
		"Lovelace":         {{Entity: id(1), Reason: entity.FamilyName}},
		"Ms. Lovelace's":   {{Entity: id(1), Reason: entity.FamilyName}},
		"Ada":              {{Entity: id(1), Reason: entity.GivenName}},
		"Jorg Muller":      {{Entity: id(3), Reason: entity.Spelling}},
		"Joerg Mueller":    {{Entity: id(3), Reason: entity.Spelling}},
		"Alan Turing":      {{Entity: id(4), Reason: entity.Longer}},
		"John Tolkien":     {{Entity: id(5), Reason: entity.MiddleName}},
		"Love":             {},
		"Ada Byron":        {},
		"":                 {},
		"ada@lovelace.org": {},
	} {
		require.Equal(t, want, entity.Candidates(name, entity.Person, all), name)
	}
	require.Equal(t, []entity.Candidate{{Entity: id(2), Reason: entity.Acronym}}, entity.Candidates("UNEO", entity.Organization, all))
	require.Empty(t, entity.Candidates("Ada Lovelace", entity.Email, all), "a form is not a name")
	require.Empty(t, entity.Candidates("Ada Lovelace", entity.Place, all))
	require.Len(t, entity.Candidates("Ada Lovelace", entity.Other, all), 1)
}

func mention(name string, kind entity.Type) entity.Mention {
	return entity.Mention{End: len(name), Surface: name, Type: kind, Confidence: entity.Likely}
}

func people(names ...string) []entity.Mention {
	var out []entity.Mention
	for _, n := range names {
		out = append(out, mention(n, entity.Person))
	}
	return out
}

func TestResolve(t *testing.T) {
	t.Parallel()
	ada := known(t, 1, "acme", "Ada Lovelace", entity.Person)
	byron := known(t, 2, "acme/eng", "Byron Lovelace", entity.Person)
	for name, c := range map[string]struct {
		mentions []entity.Mention
		known    []entity.Entity
		want     []mem.ID
		suggest  int // of the last one
	}{
		"nothing known":                         {people("Ada Lovelace"), nil, []mem.ID{{}}, 0},
		"its own name":                          {people("ada LOVELACE"), []entity.Entity{ada, byron}, []mem.ID{id(1)}, 0},
		"one fits":                              {people("Lovelace"), []entity.Entity{ada}, []mem.ID{id(1)}, 0},
		"two fit":                               {people("Lovelace"), []entity.Entity{ada, byron}, []mem.ID{{}}, 2},
		"two fit and the text has one":          {people("Ada Lovelace", "Lovelace"), []entity.Entity{ada, byron}, []mem.ID{id(1), {}}, 2},
		"a given name alone":                    {people("Ada"), []entity.Entity{ada}, []mem.ID{{}}, 1},
		"a given name after the whole":          {people("Ada Lovelace", "Ada"), []entity.Entity{ada}, []mem.ID{id(1), id(1)}, 0},
		"a given name before the whole":         {people("Ada", "Ada Lovelace"), []entity.Entity{ada}, []mem.ID{id(1), id(1)}, 0},
		"a longer name":                         {people("Ada Lovelace"), []entity.Entity{known(t, 9, "acme", "Lovelace", entity.Person)}, []mem.ID{{}}, 1},
		"another sort of thing":                 {[]entity.Mention{mention("Ada Lovelace", entity.Place)}, []entity.Entity{ada}, []mem.ID{{}}, 0},
		"an unclear sort of thing":              {[]entity.Mention{mention("Ada Lovelace", entity.Other)}, []entity.Entity{ada}, []mem.ID{id(1)}, 0},
		"two of one name, the nearest":          {people("Ada Lovelace"), []entity.Entity{ada, known(t, 3, "acme/eng", "Ada Lovelace", entity.Person)}, []mem.ID{id(3)}, 1},
		"two of one name in one place":          {[]entity.Mention{mention("Mercury", entity.Other)}, []entity.Entity{known(t, 3, "acme", "Mercury", entity.Person), known(t, 4, "acme", "Mercury", entity.Product)}, []mem.ID{{}}, 2},
		"no key":                                {people("...", "Ada Lovelace"), []entity.Entity{ada}, []mem.ID{id(1)}, 0},
		"an own name against another's surname": {people("Lovelace"), []entity.Entity{ada, known(t, 3, "acme", "Lovelace", entity.Person)}, []mem.ID{id(3)}, 1},
	} {
		links := entity.Resolve(c.mentions, c.known)
		require.Len(t, links, len(c.want), name)
		for i, l := range links {
			require.Equal(t, c.want[i], l.Entity, "%s: %d", name, i)
			require.Equal(t, l.Entity.IsZero(), l.IsNew())
			require.Equal(t, l.Entity.IsZero(), l.Reason == "", name)
		}
		require.Len(t, links[len(links)-1].Suggestions, c.suggest, name)
	}
}

// Several mentions of what is new are one entity.
func TestResolveNew(t *testing.T) {
	t.Parallel()
	links := entity.Resolve(people("Zorblax", "Zorblax Quimby", "Z. Quimby", "Quimby's", "Bob"), nil)
	require.Len(t, links, 5)
	for _, l := range links[:4] {
		require.True(t, l.IsNew())
		require.Equal(t, "zorblax quimby", l.Key)
		require.Equal(t, "Zorblax Quimby", l.Name)
	}
	require.Equal(t, "bob", links[4].Key)
}

// What has been merged is one thing: it cannot be ambiguous with itself, and a link keeps the
// name's own entity.
func TestResolveMerged(t *testing.T) {
	t.Parallel()
	ada := known(t, 1, "acme", "Ada Lovelace", entity.Person)
	king := known(t, 2, "acme/eng", "Ada King Lovelace", entity.Person)
	king.MergedInto = id(1)
	links := entity.Resolve(people("Lovelace", "Ada King Lovelace", "Ada Lovelace"), []entity.Entity{ada, king})
	for i, want := range []mem.ID{links[0].Entity, id(2), id(1)} {
		require.Equal(t, want, links[i].Entity)
		require.Equal(t, id(1), links[i].Root)
		require.False(t, links[i].IsNew())
		require.Empty(t, links[i].Suggestions)
	}
	king.MergedInto = mem.ID{}
	require.True(t, entity.Resolve(people("Lovelace"), []entity.Entity{ada, king})[0].IsNew(), "split, they are two")
}

// An alias that a namespace uses keeps its meaning when the namespace above gets an entity of
// that name.
func TestResolveAliasOfTheNamespace(t *testing.T) {
	t.Parallel()
	ada := known(t, 1, "acme", "Ada Lovelace", entity.Person)
	ada.Aliases = []entity.Alias{{Name: "Bee", Key: "bee", Namespace: ns(t, "acme/eng")}}
	bee := known(t, 2, "acme", "Bee", entity.Person)
	links := entity.Resolve(people("Bee"), []entity.Entity{ada, bee})
	require.Equal(t, id(1), links[0].Entity)
	require.Equal(t, entity.KnownAlias, links[0].Reason)
	require.Equal(t, []entity.Candidate{{Entity: id(2), Reason: entity.SameName}}, links[0].Suggestions)
	require.False(t, links[0].Learns())
	require.True(t, entity.Resolve(people("A. Lovelace"), []entity.Entity{ada})[0].Learns())
}

// Resolve changes nothing that it was given.
func TestResolveLeavesItsInput(t *testing.T) {
	t.Parallel()
	in := []entity.Entity{{ID: id(1), Namespace: ns(t, "acme"), Name: "Ada Lovelace", Type: entity.Person}}
	mentions := people("Bob", "Lovelace")
	links := entity.Resolve(mentions, in)
	require.Equal(t, id(1), links[1].Entity)
	require.Equal(t, "ada lovelace", links[1].Key)
	require.Empty(t, in[0].Key)
	require.Equal(t, people("Bob", "Lovelace"), mentions)
}

// TestRegistryParts: what was one text before it was taken apart names one thing, not several, and
// the next text knows what it named.
func TestRegistryParts(t *testing.T) {
	t.Parallel()
	texts := [][]entity.Mention{
		{{Surface: "Mira", Type: entity.Other}},
		{{Surface: "Mira Okonjo", Type: entity.Person}, {Surface: "Lisbon", Type: entity.Place}},
		{{Surface: "Mira", Type: entity.Person}},
		nil,
	}
	made := byte(0)
	newID := func() mem.ID { made++; return mem.ID{made} }
	r := entity.NewRegistry(nil, acl.Namespace{})
	links := r.Resolve(texts, newID)
	require.Len(t, links, 4)
	require.Empty(t, links[3])
	for i, want := range []int{1, 2, 1} {
		require.Len(t, links[i], want)
		require.True(t, links[i][0].IsNew())
		require.Equal(t, "Mira Okonjo", links[i][0].Name, "text %d", i)
		require.Equal(t, links[1][0].NewID, links[i][0].NewID)
	}
	next := r.Resolve([][]entity.Mention{{{Surface: "Lisbon", Type: entity.Place}}}, newID)
	require.Equal(t, links[1][1].NewID, next[0][0].Entity)
	require.Equal(t, byte(2), made)
}
