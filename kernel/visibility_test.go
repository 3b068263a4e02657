package kernel_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// lookalikes are namespaces that a prefix, a pattern, a folding comparison or a collation
// takes for each other, in several tenants.
var lookalikes = []string{
	"acme", "acme/eng", "acme/eng/platform", "acme/eng/platform/db", "acme/sales", "acme/engineering",
	"acme/eng_", "acme/eng_/db", "acme/engX", "acme/engX/db", "acme/eng%", "acme/100%", "acme/100%/db", "acme/100abc", "acme/100abc/db", "acme/eng0", "acme/eng-2", "acme/eng.", "acme/eng ",
	"acme/ENG", `acme/eng\`, `acme/eng\platform`, "acme/eng'", `acme/eng"`, "acme/*", "acme/$1", "acme/éng", "acme/\u200Feng",
	`acme\`, `acme\eng`, "acmecorp", "acmecorp/eng", "Acme", "acme0", "globex/eng/platform",
}

// callers are those of the namespaces above with the most to confuse.
var callers = []string{
	"acme", "acme/eng", "acme/eng/platform", "acme/engineering", "acme/eng_", "acme/100%", "acme/eng0", `acme/eng\platform`,
	`acme\eng`, "acmecorp/eng", "Acme", "globex/eng/platform",
}

// sees is the ancestor rule, read segment by segment.
func sees(caller, other string) bool {
	c, o := strings.Split(caller, "/"), strings.Split(other, "/")
	return len(o) <= len(c) && slices.Equal(c[:len(o)], o)
}

// inSubtree is the reach of management: downwards.
func inSubtree(path, root string) bool { return sees(path, root) }

// world has the same two memories in every namespace: one that was replaced and its
// successor.
type world struct {
	*kerneltest.Kit

	paths        []string
	members      map[string]kernel.Identity
	old, current map[string]kernel.ID
	// between is a time at which the old memories were believed.
	between time.Time
}

const (
	oldText     = "The beacon on the roof is red."
	currentText = "The beacon on the roof turned green."
)

var (
	january  = time.Date(2026, 1, 15, 8, 0, 0, 0, time.UTC)
	february = january.AddDate(0, 1, 0)
)

func newWorld(t *testing.T, paths []string, opts ...kernel.Option) *world {
	t.Helper()
	return fillWorld(t, kerneltest.Open(t, opts...), paths)
}

func fillWorld(t *testing.T, k *kerneltest.Kit, paths []string) *world {
	t.Helper()
	w := &world{
		Kit: k, paths: paths, members: map[string]kernel.Identity{}, old: map[string]kernel.ID{}, current: map[string]kernel.ID{},
	}
	ctx := t.Context()
	for _, path := range paths {
		w.members[path] = w.Key(path, kernel.RoleMember)
		rep, err := w.Write(ctx, w.members[path], kernel.WriteRequest{Text: oldText, EventTime: january})
		require.NoError(t, err)
		require.Len(t, rep.Stored, 1, "%q took its text for another namespace's", path)
		w.old[path] = rep.Stored[0]
	}
	w.Clock.Advance(time.Hour)
	w.between = w.Clock.Now()
	w.Clock.Advance(time.Hour)
	for _, path := range paths {
		rep, err := w.Write(ctx, w.members[path], kernel.WriteRequest{
			Text: currentText, EventTime: february, Kind: "goal", Supersedes: w.old[path],
		})
		require.NoError(t, err)
		require.Equal(t, []kernel.ID{w.old[path]}, rep.Superseded, path)
		w.current[path] = rep.Stored[0]
	}
	return w
}

// requireUntouched fails unless every memory of every namespace is as newWorld left it.
func (w *world) requireUntouched(t *testing.T) {
	t.Helper()
	for _, path := range w.paths {
		got, err := w.Read(t.Context(), w.members[path], kernel.ReadRequest{ID: w.current[path]})
		require.NoError(t, err, path)
		require.True(t, got.Memory.Current(), path)
		require.Equal(t, currentText, got.Memory.Text, path)
		chain, err := w.History(t.Context(), w.members[path], kernel.HistoryRequest{ID: w.old[path]})
		require.NoError(t, err, path)
		require.Len(t, chain.Memories, 2, path)
	}
}

// The lists and the rule of the other tests, against the cases as they are written down.
func TestVisibilityWorkedCases(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	ctx := t.Context()
	caller := w.members["acme/eng/platform"]
	for path, visible := range map[string]bool{
		"acme/eng/platform": true, "acme/eng": true, "acme": true,
		"acme/eng/platform/db": false, "acme/sales": false, "acme/engineering": false, "acmecorp": false,
	} {
		_, err := w.Read(ctx, caller, kernel.ReadRequest{ID: w.current[path]})
		if visible {
			require.NoError(t, err, path)
		} else {
			require.ErrorIs(t, err, kernel.ErrNotFound, path)
		}
		require.Equal(t, visible, sees("acme/eng/platform", path), path)
	}
	// Nobody sees down, whatever the role.
	for _, role := range []kernel.Role{kernel.RoleAgent, kernel.RoleAuditor, kernel.RoleAdmin, kernel.RoleOwner} {
		above := w.Key("acme", role)
		_, err := w.Read(ctx, above, kernel.ReadRequest{ID: w.current["acme"]})
		require.NoError(t, err)
		_, err = w.Read(ctx, above, kernel.ReadRequest{ID: w.current["acme/eng"]})
		require.ErrorIs(t, err, kernel.ErrNotFound, role)
	}
}

func TestVisibilityOfReadAndHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	ctx := t.Context()
	for _, caller := range callers {
		who := w.members[caller]
		for _, path := range w.paths {
			now, errNow := w.Read(ctx, who, kernel.ReadRequest{ID: w.current[path]})
			ended, errEnded := w.Read(ctx, who, kernel.ReadRequest{ID: w.old[path]})
			asOf, errAsOf := w.Read(ctx, who, kernel.ReadRequest{ID: w.current[path], AsOf: w.between})
			chain, errChain := w.History(ctx, who, kernel.HistoryRequest{ID: w.old[path]})
			if !sees(caller, path) {
				for _, err := range []error{errNow, errEnded, errAsOf, errChain} {
					require.ErrorIs(t, err, kernel.ErrNotFound, "%q must not see %q", caller, path)
				}
				continue
			}
			for _, err := range []error{errNow, errEnded, errAsOf, errChain} {
				require.NoError(t, err, "%q must see %q", caller, path)
			}
			require.Equal(t, currentText, now.Memory.Text)
			require.Equal(t, path, now.Memory.Namespace.String())
			require.Equal(t, oldText, ended.Memory.Text)
			require.Equal(t, w.old[path], asOf.Memory.ID)
			require.Len(t, chain.Memories, 2)
			require.Equal(t, w.current[path], chain.Memories[0].ID)
			require.Equal(t, w.old[path], chain.Memories[1].ID)
		}
	}
}

// A position in a chain that the caller does not see opens nothing.
func TestVisibilityOfHistoryPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{"acme/eng", "acme/sales"})
	who := w.members["acme/eng"]
	for _, after := range []kernel.Memory{
		{ID: w.current["acme/sales"], ValidFrom: w.Clock.Now()},
		{ID: kernel.ID{0xff}, ValidFrom: w.Clock.Now().Add(time.Hour)},
		{},
	} {
		rep, err := w.History(t.Context(), who, kernel.HistoryRequest{ID: w.old["acme/sales"], After: &after})
		if err == nil {
			require.Empty(t, rep.Memories)
			require.False(t, rep.More)
		} else {
			require.ErrorIs(t, err, kernel.ErrNotFound)
		}
		rep, err = w.History(t.Context(), who, kernel.HistoryRequest{ID: w.old["acme/eng"], After: &after})
		require.NoError(t, err)
		for _, m := range rep.Memories {
			require.Equal(t, "acme/eng", m.Namespace.String())
		}
	}
}
