package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// judge is a language model that finds two texts to contradict each other if the test says so,
// and all others unrelated. It looks at nothing but what the prompt shows it.
type judge struct {
	kerneltest.LLM

	calls       atomic.Int64
	contradicts func(incoming, candidate string) bool
	// on, when set, runs inside every call; its error is the call's.
	on func(ctx context.Context, shown []string) error
}

func (j *judge) Complete(ctx context.Context, req model.Request) (*model.Response, error) {
	if req.SchemaName != "conflict_verdicts" {
		return nil, kerneltest.ErrFake // texts are kept as they are
	}
	j.calls.Add(1)
	var data struct {
		Incoming   struct{ Text string }
		Candidates []struct {
			I    int
			Text string
		}
	}
	body := strings.TrimSuffix(strings.TrimPrefix(req.Prompt, "<data>\n"), "\n</data>")
	if err := json.Unmarshal([]byte(body), &data); err != nil {
		return nil, err
	}
	type verdict struct {
		I          int    `json:"i"`
		Relation   string `json:"relation"`
		Confidence int    `json:"confidence"`
	}
	shown := []string{data.Incoming.Text}
	verdicts := []verdict{}
	for _, c := range data.Candidates {
		shown = append(shown, c.Text)
		relation := "unrelated"
		if j.contradicts(data.Incoming.Text, c.Text) {
			relation = "contradicts"
		}
		verdicts = append(verdicts, verdict{c.I, relation, 95})
	}
	answer, err := json.Marshal(map[string]any{"verdicts": verdicts})
	if err != nil {
		return nil, err
	}
	if j.on != nil {
		if err := j.on(ctx, shown); err != nil {
			return nil, err
		}
	}
	return &model.Response{JSON: answer}, nil
}

// cities finds two sentences about where one person lives to contradict each other.
func cities(incoming, candidate string) bool {
	a, x, ok := strings.Cut(strings.TrimSuffix(incoming, "."), " lives in ")
	b, y, also := strings.Cut(strings.TrimSuffix(candidate, "."), " lives in ")
	return ok && also && a == b && x != y
}

// contested is a namespace whose writers differ in trust.
type contested struct {
	*kerneltest.Kit

	admin kernel.Identity
	// agent says what was said in a conversation, reader what stands in documents, dana what
	// she knows: ranks 10, 40 and 50.
	agent, reader, dana kernel.Identity
	judge               *judge
}

const quarrel = "acme/eng"

func newContested(t *testing.T, opts ...kernel.Option) *contested {
	t.Helper()
	k := kerneltest.Open(t, opts...)
	c := &contested{
		Kit: k, admin: k.Key(quarrel, kernel.RoleAdmin), agent: k.Key(quarrel, kernel.RoleAgent), dana: k.Key(quarrel, kernel.RoleMember),
		judge: &judge{contradicts: cities},
	}
	c.reader = trusted(t, k, quarrel, mem.ProvenanceDocument)
	k.SetLLM(c.judge, mem.DestinationLocal)
	return c
}

// trusted returns an identity whose writes are of a class.
func trusted(t *testing.T, k *kerneltest.Kit, ns string, class kernel.Provenance) kernel.Identity {
	t.Helper()
	owner := k.Key(strings.Split(ns, "/")[0], kernel.RoleOwner)
	cred := must(k.Keys().Create(t.Context(), owner, kernel.KeyRequest{
		Namespace: kerneltest.Namespace(t, ns), Actor: "connector:" + string(class), Role: kernel.RoleMember, Provenance: class,
	}))
	return must(k.Authenticate(t.Context(), cred.Secret))
}

func (c *contested) write(t *testing.T, who kernel.Identity, text string) kernel.ID {
	t.Helper()
	return c.writeAs(t, who, kernel.WriteRequest{Text: text})
}

func (c *contested) writeAs(t *testing.T, who kernel.Identity, req kernel.WriteRequest) kernel.ID {
	t.Helper()
	c.Clock.Advance(time.Second)
	req.Verbatim = true
	reply := must(c.Write(t.Context(), who, req))
	require.Len(t, reply.Stored, 1)
	return reply.Stored[0]
}

// settle runs the checks that are due.
func (c *contested) settle(t *testing.T) {
	t.Helper()
	require.NoError(t, c.CheckAll(t.Context()))
}

// rule sets the policy of the namespace.
func (c *contested) rule(t *testing.T, p kernel.Policy) {
	t.Helper()
	must(c.Policies().Put(t.Context(), c.admin, kernel.PutPolicyRequest{Policy: p}))
}

// found returns which memories with some words a search finds.
func (c *contested) found(t *testing.T, words string) []kernel.ID {
	t.Helper()
	var ids []kernel.ID
	for _, item := range must(c.Search(t.Context(), c.dana, kernel.SearchRequest{Query: words})).Items {
		if strings.Contains(item.Memory.Text, words) {
			ids = append(ids, item.Memory.ID)
		}
	}
	return ids
}

// cases lists the conflicts in a state.
func (c *contested) cases(t *testing.T, state kernel.ConflictState) []kernel.Conflict {
	t.Helper()
	return must(c.Conflicts().List(t.Context(), c.admin, kernel.ConflictListRequest{State: state})).Conflicts
}

func (c *contested) read(t *testing.T, id kernel.ID) kernel.Memory {
	t.Helper()
	return must(c.Read(t.Context(), c.dana, kernel.ReadRequest{ID: id})).Memory
}

func (c *contested) unchecked(t *testing.T) int {
	t.Helper()
	return sqlValue[int](t, c.Pool, `SELECT count(*)::int FROM memkernel.conflict_checks`)
}

// requireGone says that a memory is out of search, reads, histories and the check for duplicates.
func (c *contested) requireGone(t *testing.T, id kernel.ID, text string) {
	t.Helper()
	require.NotContains(t, c.found(t, text), id)
	_, err := c.Read(t.Context(), c.dana, kernel.ReadRequest{ID: id})
	require.ErrorIs(t, err, kernel.ErrNotFound)
	_, err = c.History(t.Context(), c.dana, kernel.HistoryRequest{ID: id})
	require.ErrorIs(t, err, kernel.ErrNotFound)
	for _, ended := range []bool{false, true} {
		for _, item := range must(c.Search(t.Context(), c.dana, kernel.SearchRequest{Query: text, IncludeSuperseded: ended})).Items {
			require.NotEqual(t, id, item.Memory.ID)
		}
	}
}

// checkRows returns the audit rows of the checks.
func (c *contested) checkRows() []kernel.AuditEvent {
	var out []kernel.AuditEvent
	for _, e := range c.Audit() {
		if e.Op == acl.OpConflictCheck {
			out = append(out, e)
		}
	}
	return out
}

// TestConflictLattice: a contradiction is settled by trust and then by recency, whoever comes
// first, and nothing is deleted.
func TestConflictLattice(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first, second func(*contested) kernel.Identity
		disputed      bool
	}{
		"document over conversation":  {func(c *contested) kernel.Identity { return c.agent }, func(c *contested) kernel.Identity { return c.reader }, false},
		"conversation under document": {func(c *contested) kernel.Identity { return c.reader }, func(c *contested) kernel.Identity { return c.agent }, true},
		"a person over a document":    {func(c *contested) kernel.Identity { return c.reader }, func(c *contested) kernel.Identity { return c.dana }, false},
		"equals, the later":           {func(c *contested) kernel.Identity { return c.agent }, func(c *contested) kernel.Identity { return c.agent }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContested(t)
			old := c.write(t, tc.first(c), "Ana lives in Oslo.")
			other := c.write(t, tc.first(c), "Bob lives in Rome.")
			c.settle(t)
			require.Empty(t, c.checkRows(), "nothing to settle leaves no row")
			next := c.write(t, tc.second(c), "Ana lives in Bern.")
			require.ElementsMatch(t, []kernel.ID{old, next, other}, c.found(t, "lives in"), "until it is checked")
			c.settle(t)
			requireSound(t, c.Pool)
			require.Zero(t, c.unchecked(t))
			rows := c.checkRows()
			if tc.disputed {
				c.requireGone(t, next, "Ana lives in Bern.")
				require.ElementsMatch(t, []kernel.ID{old, other}, c.found(t, "lives in"))
				require.Len(t, rows, 2)
				require.Equal(t, next, rows[0].MemoryID)
				require.Contains(t, rows[0].Detail, "case="+old.String()+" action=dispute reason=underranks relation=contradicts basis=model confidence=95")
				require.Equal(t, next, rows[1].MemoryID)
				require.Equal(t, "effect=dispute reason=underranks", rows[1].Detail)
				cases := c.cases(t, "")
				require.Len(t, cases, 1)
				require.Equal(t, "Ana lives in Bern.", cases[0].From.Text)
				require.Equal(t, "Ana lives in Oslo.", cases[0].To.Text)
				require.True(t, cases[0].Disputed)
				// It is no duplicate: the same text is stored anew, and set aside again.
				again := c.write(t, tc.second(c), "Ana lives in Bern.")
				require.NotEqual(t, next, again)
				c.settle(t)
				c.requireGone(t, again, "Ana lives in Bern.")
				require.Len(t, c.cases(t, ""), 2)
			} else {
				require.ElementsMatch(t, []kernel.ID{next, other}, c.found(t, "lives in"))
				m := c.read(t, old)
				require.Equal(t, mem.EndSuperseded, m.EndReason)
				require.Equal(t, next, m.SupersededBy)
				require.Len(t, rows, 1)
				require.Equal(t, old, rows[0].MemoryID)
				require.Equal(t, "system:conflict", rows[0].Actor)
				require.Equal(t, quarrel, rows[0].Namespace)
				require.Contains(t, rows[0].Detail, "effect=close by="+next.String())
				require.Empty(t, c.cases(t, ""))
			}
			requireSound(t, c.Pool)
		})
	}
}

// TestConflictRecency: of equal trust, the later in the world wins, whatever the clocks of the
// writers and the order of the writes say.
func TestConflictRecency(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		// first and second are when it was so in the world, zero for unknown; skew is how
		// far the second writer's clock is ahead of the first one's.
		first, second time.Time
		skew          time.Duration
		secondWins    bool
	}{
		"told later":                     {secondWins: true, skew: time.Second},
		"told later, with a slow clock":  {skew: -time.Hour},
		"earlier in the world":           {first: noon, second: noon.AddDate(-1, 0, 0), skew: time.Hour},
		"later in the world, slow clock": {first: noon.AddDate(-1, 0, 0), second: noon, skew: -time.Hour, secondWins: true},
		"dated before the other's told":  {second: noon.AddDate(-1, 0, 0), skew: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContested(t)
			c.Clock.Advance(2 * time.Hour)
			first := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo.", EventTime: tc.first})
			c.Clock.Advance(tc.skew - time.Second) // which the write adds
			second := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern.", EventTime: tc.second})
			c.Clock.Advance(4 * time.Hour)
			c.settle(t)
			requireSound(t, c.Pool)
			if tc.secondWins {
				require.Equal(t, []kernel.ID{second}, c.found(t, "lives in"))
				require.Equal(t, second, c.read(t, first).SupersededBy)
				return
			}
			require.Equal(t, []kernel.ID{first}, c.found(t, "lives in"))
			c.requireGone(t, second, "Ana lives in Bern.")
		})
	}
}

// TestConflictBuiltInRules: without a model nothing is settled but what is certain, and both
// stay.
func TestConflictBuiltInRules(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 2, n, 9, 0, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		first, second kernel.WriteRequest
		cases         int
	}{
		"two dates":           {first: kernel.WriteRequest{Text: "Ana ran 5 km on 1 February."}, second: kernel.WriteRequest{Text: "Ana ran 5 km on 2 February."}},
		"the same, twice":     {first: kernel.WriteRequest{Text: "Ana ran 5 km.", EventTime: day(1)}, second: kernel.WriteRequest{Text: "Ana ran 5 km!", EventTime: day(2)}},
		"unrelated":           {first: kernel.WriteRequest{Text: "Ana is tall."}, second: kernel.WriteRequest{Text: "Ana sings in a choir."}},
		"two values":          {first: kernel.WriteRequest{Text: "Ana speaks French."}, second: kernel.WriteRequest{Text: "Ana speaks Greek."}},
		"two homes":           {first: kernel.WriteRequest{Text: "Ana lives in Oslo."}, second: kernel.WriteRequest{Text: "Ana lives in Bern."}},
		"a contradiction":     {first: kernel.WriteRequest{Text: "Ana is allergic to nuts."}, second: kernel.WriteRequest{Text: "Ana is not allergic to nuts."}, cases: 1},
		"a single value":      {first: kernel.WriteRequest{Text: "Ana was born on 3 May 1990."}, second: kernel.WriteRequest{Text: "Ana was born on 4 May 1990."}, cases: 1},
		"a person's word too": {first: kernel.WriteRequest{Text: "Ana's blood type is A+."}, second: kernel.WriteRequest{Text: "Ana's blood type is B+."}, cases: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContested(t)
			c.SetLLM(nil, "")
			first := c.writeAs(t, c.agent, tc.first)
			second := c.writeAs(t, c.dana, tc.second)
			c.settle(t)
			require.ElementsMatch(t, []kernel.ID{first, second}, c.found(t, "Ana"), "both are current")
			require.Zero(t, c.unchecked(t))
			cases := c.cases(t, kernel.ConflictOpen)
			require.Len(t, cases, tc.cases)
			require.Len(t, c.checkRows(), tc.cases)
			for _, conflict := range cases {
				require.Equal(t, second, conflict.From.ID)
				require.Equal(t, first, conflict.To.ID)
				require.Equal(t, "rule_only", conflict.Reason)
				require.False(t, conflict.Disputed)
			}
			requireSound(t, c.Pool)
		})
	}
}

// TestConflictVariantsAreOne: case, white space and Unicode form make no second memory, and
// leave nothing to be checked.
func TestConflictVariantsAreOne(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	id := c.write(t, c.agent, "Ana visits the Caf\u00e9 Zentral.")
	for _, text := range []string{"ana visits  the CAF\u00c9 zentral.", "Ana visits the Cafe\u0301 Zentral."} {
		require.Equal(t, []kernel.ID{id}, must(c.Write(t.Context(), c.agent, kernel.WriteRequest{Text: text})).Deduplicated)
	}
	require.Equal(t, 1, c.unchecked(t))
	c.settle(t)
	require.Empty(t, c.checkRows())
}

// TestConflictPolicies: the policy in force when the check runs decides.
func TestConflictPolicies(t *testing.T) {
	t.Parallel()
	root := kerneltest.Namespace
	for name, tc := range map[string]struct {
		above, here kernel.ConflictReview
		// left are the facts that stay current of two that a model finds to contradict each other.
		left, cases int
	}{
		"nothing said":           {left: 1},
		"auto":                   {here: mem.ReviewAuto, left: 1},
		"review":                 {here: mem.ReviewAll, left: 2, cases: 1},
		"off":                    {here: mem.ReviewOff, left: 2},
		"off cannot lift review": {above: mem.ReviewAll, here: mem.ReviewOff, left: 2, cases: 1},
		"off cannot lift auto":   {above: mem.ReviewAuto, here: mem.ReviewOff, left: 1},
		"review above off":       {above: mem.ReviewOff, here: mem.ReviewAll, left: 2, cases: 1},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", late ", late), func(t *testing.T) {
				t.Parallel()
				c := newContested(t)
				owner := c.Key("acme", kernel.RoleOwner)
				put := func() {
					must(c.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{
						Namespace: root(t, "acme"), Policy: kernel.Policy{ConflictReview: tc.above},
					}))
					c.rule(t, kernel.Policy{ConflictReview: tc.here})
				}
				if !late {
					put()
				}
				c.write(t, c.agent, "Ana lives in Oslo.")
				c.write(t, c.agent, "Ana lives in Bern.")
				if late {
					put()
				} else if tc.here == mem.ReviewOff && tc.above == "" {
					require.Zero(t, c.unchecked(t), "nothing is queued")
				}
				c.settle(t)
				require.Len(t, c.found(t, "Ana"), tc.left)
				require.Len(t, c.cases(t, ""), tc.cases)
				require.Zero(t, c.unchecked(t))
				requireSound(t, c.Pool)
			})
		}
	}
	c := newContested(t)
	_, err := c.Policies().Put(t.Context(), c.admin, kernel.PutPolicyRequest{Policy: kernel.Policy{ConflictReview: "maybe"}})
	require.ErrorIs(t, err, kernel.ErrInvalid)
	require.ErrorContains(t, err, "conflictReview")
}

// TestConflictCharter: what somebody wants or holds is never settled without a person, and raw
// input takes no part.
func TestConflictCharter(t *testing.T) {
	t.Parallel()
	for _, kind := range mem.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := newContested(t)
			first := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo.", Kind: kind})
			second := c.write(t, c.dana, "Ana lives in Bern.")
			c.settle(t)
			switch kind {
			case mem.KindRaw:
				require.ElementsMatch(t, []kernel.ID{first, second}, c.found(t, "Ana"))
				require.Empty(t, c.cases(t, ""))
				require.Zero(t, c.judge.calls.Load())
			case mem.KindPreference, mem.KindGoal, mem.KindOpinion:
				require.ElementsMatch(t, []kernel.ID{first, second}, c.found(t, "Ana"))
				require.Equal(t, "protected_kind", c.cases(t, "")[0].Reason)
			default:
				require.Equal(t, []kernel.ID{second}, c.found(t, "Ana"))
			}
			requireSound(t, c.Pool)
		})
	}
}

// TestConflictNamespaces: neighbours of other namespaces are neither shown nor touched.
func TestConflictNamespaces(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	ctx := t.Context()
	c.judge.on = func(_ context.Context, shown []string) error {
		for _, text := range shown {
			if strings.Contains(text, "elsewhere") {
				t.Error("the model was shown ", text)
			}
		}
		return nil
	}
	for _, ns := range []string{"acme", "acme/eng/db", "acme/sales", "acme/en", "acme/engx", "globex", "globex/eng"} {
		who := c.Key(ns, kernel.RoleAgent)
		must(c.Write(ctx, who, kernel.WriteRequest{Text: "Ana lives in elsewhere " + strings.ReplaceAll(ns, "/", "-") + "."}))
	}
	c.settle(t)
	before := digest(t, c.Pool, "memory_objects")
	c.write(t, c.dana, "Ana lives in Bern.")
	c.settle(t)
	require.Equal(t, 1, sqlValue[int](t, c.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE namespace = 'acme/eng'`))
	sqlExec(t, c.Pool, `SELECT 1`)
	require.Empty(t, c.cases(t, ""))
	require.Equal(t, before, sqlValue[string](t, c.Pool, `SELECT count(*) || ' ' || coalesce(md5(string_agg(r::text, '|' ORDER BY r::text)), '')
		FROM memkernel.memory_objects AS r WHERE namespace <> 'acme/eng'`))
	requireSound(t, c.Pool)
}
