package kerneltest

import (
	"context"
	"errors"
	"hash/fnv"
	"sync"

	"github.com/memkernel/memkernel/kernel/model"
)

// ErrFake is the failure of a fake model that was told to fail and not how.
var ErrFake = errors.New("fake failure")

// Embedder is a scripted embedding model. Its vectors depend on the text alone. The zero
// value is ready: 8 dimensions, remote, never failing. Set the fields before use.
type Embedder struct {
	// Dim is the dimension, default 8.
	Dim int
	// InProcess is what Info reports.
	InProcess bool
	// Trusted is what Info reports.
	Trusted bool
	// OnEmbed, when set, runs inside every call, for example to block, to look around, or to
	// fail: its error is the call's.
	OnEmbed func(ctx context.Context, texts []string) error

	mu    sync.Mutex
	calls int
	fail  error
}

// Info implements model.Embedder.
func (e *Embedder) Info() model.Info {
	return model.Info{Name: "fake", Revision: "1", Dim: e.dim(), InProcess: e.InProcess, Trusted: e.Trusted}
}

func (e *Embedder) dim() int {
	if e.Dim == 0 {
		return 8
	}
	return e.Dim
}

// Embed implements model.Embedder.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.calls++
	fail := e.fail
	e.mu.Unlock()
	if e.OnEmbed != nil {
		if err := e.OnEmbed(ctx, texts); err != nil {
			return nil, err
		}
	}
	if fail != nil {
		return nil, fail
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text))
		seed := h.Sum64()
		out[i] = make([]float32, e.dim())
		for j := range out[i] {
			// A linear congruential step (Knuth's MMIX constants) spreads the hash.
			seed = seed*6364136223846793005 + 1442695040888963407
			out[i][j] = float32(int32(seed>>32)) / (1 << 31) //nolint:gosec // the bits are what is wanted
		}
	}
	return out, nil
}

// Fail makes every call fail with err from now on, for example ErrFake; nil ends it.
func (e *Embedder) Fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail = err
}

// Calls counts the calls so far.
func (e *Embedder) Calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}

// LLM is a scripted language model. It answers with Answers in order and with the last one
// from then on; with none it fails with ErrFake. Set the fields before use.
type LLM struct {
	Answers []string
	// OnComplete, when set, runs inside every call; its error is the call's.
	OnComplete func(ctx context.Context, req model.Request) error

	mu    sync.Mutex
	calls int
}

// Name implements model.LLM.
func (*LLM) Name() string { return "fake" }

// Complete implements model.LLM.
func (l *LLM) Complete(ctx context.Context, req model.Request) (*model.Response, error) {
	l.mu.Lock()
	n := l.calls
	l.calls++
	l.mu.Unlock()
	if l.OnComplete != nil {
		if err := l.OnComplete(ctx, req); err != nil {
			return nil, err
		}
	}
	if len(l.Answers) == 0 {
		return nil, ErrFake
	}
	answer := l.Answers[min(n, len(l.Answers)-1)]
	return &model.Response{JSON: []byte(answer), Usage: model.Usage{PromptTokens: len(req.Prompt) / 4, AnswerTokens: len(answer) / 4}}, nil
}

// Calls counts the calls so far.
func (l *LLM) Calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

var (
	_ model.Embedder = (*Embedder)(nil)
	_ model.LLM      = (*LLM)(nil)
)
