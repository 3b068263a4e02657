package conflict_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/conflict"
)

func ns(tb testing.TB, path string) acl.Namespace {
	tb.Helper()
	n, err := acl.ParseNamespace(path)
	require.NoError(tb, err)
	return n
}

func id(n int) mem.ID {
	var out mem.ID
	binary.BigEndian.PutUint64(out[8:], uint64(n))
	return out
}

func day(n int) time.Time { return time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// fact is an active conversation fact of acme/a, told on day n.
func fact(tb testing.TB, n int, text string) *mem.Memory {
	tb.Helper()
	return &mem.Memory{
		ID: id(n), Namespace: ns(tb, "acme/a"), Kind: mem.KindFact, Text: text, AssertionTime: day(n), ValidFrom: day(n),
		Status: mem.StatusActive, Provenance: mem.ProvenanceConversation,
	}
}

func ask(in *mem.Memory, old ...*mem.Memory) *conflict.Question {
	q := &conflict.Question{Incoming: in}
	for _, m := range old {
		q.Candidates = append(q.Candidates, conflict.Candidate{Memory: m})
	}
	return q
}

func said(r conflict.Relation, confidence int) conflict.Verdict {
	return conflict.Verdict{Relation: r, Confidence: confidence, Basis: conflict.BasisModel}
}

func contradicted(confidence int) conflict.Verdict { return said(conflict.Contradicts, confidence) }

func judgement(vs ...conflict.Verdict) *conflict.Judgement {
	return &conflict.Judgement{Verdicts: vs}
}

func decide(tb testing.TB, p conflict.Policy, q *conflict.Question, vs ...conflict.Verdict) conflict.Outcome {
	tb.Helper()
	out, err := conflict.Decide(p, q, judgement(vs...))
	require.NoError(tb, err)
	return out
}

func auto() conflict.Policy { return conflict.Policy{Review: mem.ReviewAuto} }

func cosine(f float64) *mem.Cosine {
	c := mem.Cosine(f)
	return &c
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// anyMemory draws a memory from few values, so that ties and refusals are frequent.
func anyMemory(tb testing.TB, r *rand.Rand, n int) *mem.Memory {
	tb.Helper()
	m := fact(tb, n, pick(r, "Ana lives in Oslo", "Ana lives in Bern", "Bob sings", "Ana is tall", "Ana is not tall"))
	m.Namespace = ns(tb, pick(r, "acme/a", "acme/a", "acme/a", "acme/a/b", "acme"))
	m.Kind = pick(r, append(mem.Kinds(), mem.KindFact, mem.KindFact, mem.KindFact)...)
	m.Status = pick(r, mem.StatusActive, mem.StatusActive, mem.StatusHeld, mem.StatusDisputed)
	m.Provenance = anyClass(r)
	m.AssertionTime = anyTime(r)
	if r.IntN(2) == 0 {
		m.EventTime = anyTime(r)
		if r.IntN(2) == 0 {
			m.EventEnd = m.EventTime.AddDate(0, 0, r.IntN(4))
		}
	}
	if r.IntN(6) == 0 {
		m.ValidTo, m.EndReason = day(100), pick(r, mem.EndSuperseded, mem.EndRetracted, mem.EndExpired)
	}
	return m
}

func anyClass(r *rand.Rand) mem.Provenance {
	return pick(r, mem.ProvenanceManual, mem.ProvenanceDocument, mem.ProvenanceLiveFetch, mem.ProvenanceConsolidation,
		mem.ProvenanceSwapImport, mem.ProvenanceConversation, "", "root")
}

// anyTime draws from clocks that are days off, equal, or differ by less than a microsecond.
func anyTime(r *rand.Rand) time.Time {
	return day(r.IntN(5) - 2).Add(time.Duration(pick(r, 0, 0, 1, 999, 1000, 1001))).In(pick(r, time.UTC, time.FixedZone("", 3600)))
}

func anyVerdict(r *rand.Rand) conflict.Verdict {
	rel := pick(r, conflict.Undecided, conflict.Same, conflict.Refines, conflict.Unrelated, conflict.Contradicts, conflict.Contradicts, conflict.Contradicts)
	if rel == conflict.Undecided {
		return conflict.Verdict{}
	}
	return conflict.Verdict{
		Relation: rel, Confidence: pick(r, 0, 69, 70, 90, 100),
		Basis: pick(r, conflict.BasisModel, conflict.BasisModel, conflict.BasisNegation, conflict.BasisSingleValue),
	}
}

func anyCase(tb testing.TB, r *rand.Rand) (conflict.Policy, *conflict.Question, *conflict.Judgement) {
	tb.Helper()
	q, j := &conflict.Question{Incoming: anyMemory(tb, r, 50)}, &conflict.Judgement{}
	for i := range r.IntN(conflict.MaxCandidates + 1) {
		c := conflict.Candidate{Memory: anyMemory(tb, r, 45+i)}
		if r.IntN(2) == 0 {
			c.Cosine = cosine(r.Float64()*2 - 1)
		}
		q.Candidates = append(q.Candidates, c)
		j.Verdicts = append(j.Verdicts, anyVerdict(r))
	}
	j.Fault = pick(r, conflict.FaultNone, conflict.FaultNone, conflict.FaultAnswer, conflict.FaultModelDown)
	p := conflict.Policy{
		Review: pick(r, mem.ReviewAuto, mem.ReviewAuto, mem.ReviewAuto, mem.ReviewAll, mem.ReviewOff, "", "odd"),
		Hold:   r.IntN(2) == 0, ActOnRules: r.IntN(2) == 0, ConflictFloor: pick[mem.Cosine](r, 0, -1, 0.3),
	}
	return p, q, j
}
