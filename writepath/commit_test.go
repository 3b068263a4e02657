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
		state      writepath.State
		want       writepath.Decision
		is         error
	}{
		{"new", mem.ID{}, writepath.State{}, writepath.Decision{Action: writepath.Insert}, nil},
		{"duplicate", mem.ID{}, writepath.State{Duplicate: first}, writepath.Decision{Action: writepath.Duplicate, Memory: first}, nil},
		{"retry", mem.ID{}, writepath.State{Receipt: []byte("{}")}, writepath.Decision{Action: writepath.Replay}, nil},
		{"a retry needs nothing to be left", first, writepath.State{Receipt: []byte("{}")}, writepath.Decision{Action: writepath.Replay}, nil},
		{"key of another request", mem.ID{}, writepath.State{ForeignReceipt: true}, writepath.Decision{}, mem.ErrConflict},
		{"key of another request, finished", mem.ID{}, writepath.State{ForeignReceipt: true, Receipt: []byte("{}")}, writepath.Decision{}, mem.ErrConflict},
		{"replace the current one", first, writepath.State{Target: own(first)}, writepath.Decision{Action: writepath.Supersede, Memory: first}, nil},
		{"replace the head of its chain", first, writepath.State{Target: own(second)}, writepath.Decision{Action: writepath.Supersede, Memory: second}, nil},
		{"missing or invisible", first, writepath.State{}, writepath.Decision{}, mem.ErrNotFound},
		{"missing or invisible, and told so only to the log", first, writepath.State{TargetHidden: true}, writepath.Decision{}, mem.ErrNotFound},
		{"missing beats duplicate", first, writepath.State{Duplicate: second}, writepath.Decision{}, mem.ErrNotFound},
		{"an ancestor's", first, writepath.State{Target: &writepath.Target{Head: first}}, writepath.Decision{}, mem.ErrForbidden},
		{
			"an ancestor's that has ended", first,
			writepath.State{Target: &writepath.Target{EndReason: mem.EndRetracted}},
			writepath.Decision{},
			mem.ErrForbidden,
		},
		{
			"ended for good", first,
			writepath.State{Target: &writepath.Target{Own: true, EndReason: mem.EndRetracted}},
			writepath.Decision{},
			mem.ErrConflict,
		},
		{"replace with itself", first, writepath.State{Target: same(first), Duplicate: first}, writepath.Decision{Action: writepath.Duplicate, Memory: first}, nil},
		{"the head says it already", first, writepath.State{Target: same(second), Duplicate: second}, writepath.Decision{Action: writepath.Duplicate, Memory: second}, nil},
		{"the head says it since the duplicate was looked for", first, writepath.State{Target: same(second)}, writepath.Decision{Action: writepath.Duplicate, Memory: second}, nil},
		{"another one says it already", first, writepath.State{Target: own(first), Duplicate: third}, writepath.Decision{}, mem.ErrConflict},
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

func (l *ledger) Apply(_ context.Context, dec writepath.Decision) error {
	l.applied = append(l.applied, dec)
	if len(l.outcomes) == 0 {
		return nil
	}
	return l.outcomes[min(len(l.applied), len(l.outcomes))-1]
}

func (l *ledger) Serialized(_ context.Context, fn func(writepath.Ledger) error) error {
	l.serialized++
	return fn(l)
}

func TestCommitAtOnce(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	dec, _, err := writepath.Commit(t.Context(), l, &writepath.Draft{}, &writepath.State{})
	require.NoError(t, err)
	require.Equal(t, writepath.Insert, dec.Action)
	require.Zero(t, l.serialized, "nobody waits for a lock unless a race was lost")
	require.Zero(t, l.states, "the state it was given is used")
}

func TestCommitDecidesAnewAfterALostRace(t *testing.T) {
	t.Parallel()
	l := &ledger{outcomes: []error{writepath.ErrStale, nil}, state: writepath.State{Duplicate: second}}
	dec, st, err := writepath.Commit(t.Context(), l, &writepath.Draft{}, &writepath.State{})
	require.NoError(t, err)
	require.Equal(t, writepath.Decision{Action: writepath.Duplicate, Memory: second}, dec)
	require.Equal(t, second, st.Duplicate)
	require.Equal(t, []writepath.Decision{{Action: writepath.Insert}, dec}, l.applied)
	require.Equal(t, 1, l.serialized)
	require.Equal(t, 1, l.states)
}

func TestCommitGivesUpAfterFiveRaces(t *testing.T) {
	t.Parallel()
	l := &ledger{outcomes: []error{writepath.ErrStale}}
	_, _, err := writepath.Commit(t.Context(), l, &writepath.Draft{}, &writepath.State{})
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
		_, _, err := writepath.Commit(t.Context(), &c.ledger, &c.draft, &writepath.State{})
		require.ErrorIs(t, err, c.is, name)
		require.Len(t, c.ledger.applied, c.applies, name)
	}
}
