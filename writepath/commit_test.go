package writepath_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

var (
	first  = mem.ID{1}
	second = mem.ID{2}
	third  = mem.ID{3}
)

func TestDecide(t *testing.T) {
	t.Parallel()
	own := func(head mem.ID) *writepath.Target { return &writepath.Target{Own: true, Head: head} }
	same := func(head mem.ID) *writepath.Target { return &writepath.Target{Own: true, Head: head, Same: true} }
	for _, c := range []struct {
		name       string
		supersedes mem.ID
		state      writepath.Standing
		want       writepath.Decision
		is         error
	}{
		{"new", mem.ID{}, writepath.Standing{}, writepath.Decision{Action: writepath.Insert}, nil},
		{"duplicate", mem.ID{}, writepath.Standing{Duplicate: first}, writepath.Decision{Action: writepath.Duplicate, Memory: first}, nil},
		{"replace the current one", first, writepath.Standing{Target: own(first)}, writepath.Decision{Action: writepath.Supersede, Memory: first}, nil},
		{"replace the head of its chain", first, writepath.Standing{Target: own(second)}, writepath.Decision{Action: writepath.Supersede, Memory: second}, nil},
		{"missing or invisible", first, writepath.Standing{}, writepath.Decision{}, mem.ErrNotFound},
		{"missing or invisible, and told so only to the log", first, writepath.Standing{TargetHidden: true}, writepath.Decision{}, mem.ErrNotFound},
		{"missing beats duplicate", first, writepath.Standing{Duplicate: second}, writepath.Decision{}, mem.ErrNotFound},
		{"an ancestor's", first, writepath.Standing{Target: &writepath.Target{Head: first}}, writepath.Decision{}, mem.ErrForbidden},
		{
			"an ancestor's that has ended", first,
			writepath.Standing{Target: &writepath.Target{EndReason: mem.EndRetracted}},
			writepath.Decision{},
			mem.ErrForbidden,
		},
		{
			"ended for good", first,
			writepath.Standing{Target: &writepath.Target{Own: true, EndReason: mem.EndRetracted}},
			writepath.Decision{},
			mem.ErrConflict,
		},
		{"replace with itself", first, writepath.Standing{Target: same(first), Duplicate: first}, writepath.Decision{Action: writepath.Duplicate, Memory: first}, nil},
		{"the head says it already", first, writepath.Standing{Target: same(second), Duplicate: second}, writepath.Decision{Action: writepath.Duplicate, Memory: second}, nil},
		{"the head says it since the duplicate was looked for", first, writepath.Standing{Target: same(second)}, writepath.Decision{Action: writepath.Duplicate, Memory: second}, nil},
		{"another one says it already", first, writepath.Standing{Target: own(first), Duplicate: third}, writepath.Decision{}, mem.ErrConflict},
		{"refresh", mem.ID{}, writepath.Standing{Target: own(first)}, writepath.Decision{Action: writepath.Supersede, Memory: first}, nil},
		{"refresh with the same", mem.ID{}, writepath.Standing{Target: same(first), Duplicate: first}, writepath.Decision{Action: writepath.Duplicate, Memory: first}, nil},
		{"refresh with what another one says", mem.ID{}, writepath.Standing{Target: own(first), Duplicate: third}, writepath.Decision{}, mem.ErrConflict},
		{
			"echo",
			mem.ID{},
			writepath.Standing{Echoes: []mem.ID{second, third}},
			writepath.Decision{Action: writepath.Echo, Memory: second, Echoes: []mem.ID{second, third}},
			nil,
		},
		{"an echo of the namespace's own is a duplicate", mem.ID{}, writepath.Standing{Duplicate: first, Echoes: []mem.ID{first}}, writepath.Decision{Action: writepath.Duplicate, Memory: first}, nil},
	} {
		got, err := writepath.Decide(&writepath.Draft{Supersedes: c.supersedes}, &c.state)
		if c.is != nil {
			require.ErrorIs(t, err, c.is, c.name)
			require.Equal(t, writepath.Decision{}, got, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
}

// TestDecideByTrust: what is said with more trust than before takes the place of what says the same,
// and nothing else does.
func TestDecideByTrust(t *testing.T) {
	t.Parallel()
	classes := []mem.Provenance{
		"", mem.ProvenanceConversation, mem.ProvenanceSwapImport, mem.ProvenanceConsolidation, mem.ProvenanceLiveFetch, mem.ProvenanceDocument, mem.ProvenanceManual,
	}
	for _, mine := range classes {
		for _, theirs := range classes {
			for _, kind := range []mem.Kind{mem.KindFact, mem.KindRaw} {
				want := writepath.Decision{Action: writepath.Duplicate, Memory: first}
				if mine.Rank() > theirs.Rank() && kind != mem.KindRaw {
					want.Action = writepath.Supersede
				}
				same := &writepath.Target{Own: true, Head: first, Same: true, Provenance: theirs}
				for name, st := range map[string]writepath.Standing{
					"":           {Duplicate: first, DuplicateProvenance: theirs},
					"refresh":    {Duplicate: first, DuplicateProvenance: theirs, Target: same},
					"correction": {Target: same},
				} {
					d := &writepath.Draft{Kind: kind, Provenance: mine}
					if name == "correction" {
						d.Supersedes = second
					}
					got, err := writepath.Decide(d, &st)
					require.NoError(t, err)
					require.Equal(t, want, got, "%s %s of %s over %s", name, kind, mine, theirs)
				}
			}
		}
	}
	// What another one than the target says is in the way, whoever says it.
	_, err := writepath.Decide(&writepath.Draft{Kind: mem.KindFact, Provenance: mem.ProvenanceManual}, &writepath.Standing{
		Duplicate: third, DuplicateProvenance: mem.ProvenanceConversation, Target: &writepath.Target{Own: true, Head: first},
	})
	require.ErrorIs(t, err, mem.ErrConflict)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	one := []*writepath.Draft{{}}
	broken := []*writepath.Draft{{}, {Supersedes: first}}
	for name, c := range map[string]struct {
		drafts []*writepath.Draft
		state  writepath.State
		want   []writepath.Decision
		replay bool
		is     error
	}{
		"a retry":                          {one, writepath.State{Receipt: []byte("{}")}, nil, true, nil},
		"a retry needs nothing to be left": {broken, writepath.State{Receipt: []byte("{}"), Standings: make([]writepath.Standing, 2)}, nil, true, nil},
		"key of another request":           {one, writepath.State{ForeignReceipt: true}, nil, false, mem.ErrConflict},
		"key of another request, finished": {one, writepath.State{ForeignReceipt: true, Receipt: []byte("{}")}, nil, false, mem.ErrConflict},
		"nothing to store":                 {nil, writepath.State{}, []writepath.Decision{}, false, nil},
		"each for itself": {
			[]*writepath.Draft{{}, {}},
			writepath.State{Standings: []writepath.Standing{{}, {Duplicate: second}}},
			[]writepath.Decision{{Action: writepath.Insert}, {Action: writepath.Duplicate, Memory: second}},
			false, nil,
		},
		"one that cannot be stops all": {broken, writepath.State{Standings: make([]writepath.Standing, 2)}, nil, false, mem.ErrNotFound},
		"standings are missing":        {one, writepath.State{}, nil, false, mem.ErrInternal},
	} {
		got, replay, err := writepath.Plan(c.drafts, &c.state)
		require.ErrorIs(t, err, c.is, name)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.replay, replay, name)
	}
}

// ledger is a scripted Ledger: each Apply takes the next outcome, and the last one repeats.
type ledger struct {
	outcomes []error
	state    writepath.State
	stateErr error

	applied    []writepath.Decision
	states     int
	serialized int
}

var _ writepath.Ledger = (*ledger)(nil)

func (l *ledger) State(context.Context) (writepath.State, error) {
	l.states++
	return l.state, l.stateErr
}

func (l *ledger) Apply(_ context.Context, decisions []writepath.Decision) error {
	l.applied = append(l.applied, decisions...)
	if len(l.outcomes) == 0 {
		return nil
	}
	return l.outcomes[min(len(l.applied), len(l.outcomes))-1]
}

func (l *ledger) Serialized(_ context.Context, fn func(writepath.Ledger) error) error {
	l.serialized++
	return fn(l)
}

// one is how a single draft stands.
func one(st writepath.Standing) writepath.State {
	return writepath.State{Standings: []writepath.Standing{st}}
}

func commit(t *testing.T, l writepath.Ledger, d writepath.Draft) (bool, writepath.State, error) {
	t.Helper()
	first := one(writepath.Standing{})
	return writepath.Commit(t.Context(), l, []*writepath.Draft{&d}, &first)
}

func TestCommitAtOnce(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	_, _, err := commit(t, l, writepath.Draft{})
	require.NoError(t, err)
	require.Equal(t, []writepath.Decision{{Action: writepath.Insert}}, l.applied)
	require.Zero(t, l.serialized, "nobody waits for a lock unless a race was lost")
	require.Zero(t, l.states, "the state it was given is used")
}

func TestCommitDecidesAnewAfterALostRace(t *testing.T) {
	t.Parallel()
	l := &ledger{outcomes: []error{writepath.ErrStale, nil}, state: one(writepath.Standing{Duplicate: second})}
	_, st, err := commit(t, l, writepath.Draft{})
	require.NoError(t, err)
	require.Equal(t, l.state, st)
	require.Equal(t, []writepath.Decision{{Action: writepath.Insert}, {Action: writepath.Duplicate, Memory: second}}, l.applied)
	require.Equal(t, 1, l.serialized)
	require.Equal(t, 1, l.states)
}

func TestCommitGivesUpAfterFiveRaces(t *testing.T) {
	t.Parallel()
	l := &ledger{outcomes: []error{writepath.ErrStale}, state: one(writepath.Standing{})}
	_, _, err := commit(t, l, writepath.Draft{})
	require.ErrorIs(t, err, mem.ErrConflict)
	require.NotErrorIs(t, err, writepath.ErrStale)
	require.Len(t, l.applied, 5)
	require.Equal(t, 4, l.serialized)
}

func TestCommitStopsWhenThereIsNothingToRetry(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		ledger  ledger
		draft   writepath.Draft
		is      error
		applies int
	}{
		"apply fails":          {ledger{outcomes: []error{broken}}, writepath.Draft{}, broken, 1},
		"apply fails later":    {ledger{outcomes: []error{writepath.ErrStale, writepath.ErrStale, broken}}, writepath.Draft{}, broken, 3},
		"state fails":          {ledger{outcomes: []error{writepath.ErrStale}, stateErr: broken}, writepath.Draft{}, broken, 1},
		"refused at once":      {ledger{}, writepath.Draft{Supersedes: first}, mem.ErrNotFound, 0},
		"refused on the retry": {ledger{outcomes: []error{writepath.ErrStale}, state: writepath.State{ForeignReceipt: true}}, writepath.Draft{}, mem.ErrConflict, 1},
		"answered on the retry": {
			ledger{outcomes: []error{writepath.ErrStale}, state: writepath.State{Receipt: []byte("{}")}}, writepath.Draft{}, nil, 1,
		},
	} {
		if c.ledger.state.Standings == nil {
			c.ledger.state.Standings = make([]writepath.Standing, 1)
		}
		_, _, err := commit(t, &c.ledger, c.draft)
		require.ErrorIs(t, err, c.is, name)
		require.Len(t, c.ledger.applied, c.applies, name)
	}
}
