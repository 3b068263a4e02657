package extract_test

import (
	"context"
	"errors"
	"sync"

	"github.com/memkernel/memkernel/kernel/model"
)

var errFake = errors.New("fake failure")

// script is a model that answers with its turns in order, and with the last one from then on.
type script struct {
	turns []turn

	mu       sync.Mutex
	requests []model.Request
}

// turn is one answer: an error, text, or what do returns.
type turn struct {
	text string
	err  error
	do   func(ctx context.Context, req model.Request) (*model.Response, error)
}

func answers(texts ...string) *script {
	s := &script{}
	for _, t := range texts {
		s.turns = append(s.turns, turn{text: t})
	}
	return s
}

func (*script) Name() string { return "script" }

func (s *script) Complete(ctx context.Context, req model.Request) (*model.Response, error) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	t := s.turns[min(n, len(s.turns)-1)]
	if t.do != nil {
		return t.do(ctx, req)
	}
	if t.err != nil {
		return nil, t.err
	}
	return &model.Response{JSON: []byte(t.text), Usage: model.Usage{PromptTokens: 100, AnswerTokens: 10}}, nil
}

func (s *script) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func hang(ctx context.Context, _ model.Request) (*model.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
