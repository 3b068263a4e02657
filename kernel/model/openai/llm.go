package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/memkernel/memkernel/kernel/model"
)

// DefaultAssumedAnswer is how many tokens an answer without a bound is taken to have when a
// budget is asked.
const DefaultAssumedAnswer = 4096

// LLMConfig describes a language model.
type LLMConfig struct {
	// Model is the endpoint's name for the model: on Azure the deployment's.
	Model string

	// Name is what Name reports, and what a budget has prices for. It is Model if empty.
	Name string

	// Format is the form of structured output to begin with, FormatSchema by default. Set
	// FormatText for a server that ignores the others without saying so.
	Format Format

	// AssumedAnswer is how many tokens are reserved of a budget for an answer whose
	// request sets no bound, default DefaultAssumedAnswer. It is not sent.
	AssumedAnswer int
}

// LLM is a language model that answers in JSON. It is safe for concurrent use. Client.LLM
// makes one.
//
// A schema is sent as response_format json_schema, strict. If the server refuses, it is asked
// for json_object, and then for plain text, with the schema in the instructions; what worked
// is remembered for the LLM's life and all its views.
type LLM struct {
	client *Client
	cfg    LLMConfig
	tenant string
	learnt *learnt
}

var _ model.TenantLLM = (*LLM)(nil)

// LLM returns a model of the endpoint. It does no I/O. It fails if cfg has no meaning.
func (c *Client) LLM(cfg LLMConfig) (*LLM, error) {
	cfg.Name = cmp.Or(cfg.Name, cfg.Model)
	cfg.AssumedAnswer = cmp.Or(cfg.AssumedAnswer, DefaultAssumedAnswer)
	if err := c.validateModel("LLMConfig.Model", cfg.Model); err != nil {
		return nil, err
	}
	switch {
	case cfg.Format < FormatSchema || cfg.Format > FormatText:
		return nil, fmt.Errorf("openai: LLMConfig.Format: there is no format %d", cfg.Format)
	case cfg.AssumedAnswer < 0:
		return nil, errors.New("openai: LLMConfig.AssumedAnswer is negative")
	}
	return &LLM{client: c, cfg: cfg, learnt: newLearnt(cfg.Format, c.official())}, nil
}

// For returns a view of the model whose requests use the tenant's budget. It costs next to
// nothing: make one per call.
func (l *LLM) For(tenant string) model.LLM {
	view := *l
	view.tenant = tenant
	return &view
}

// Name identifies the model.
func (l *LLM) Name() string { return l.cfg.Name }

// Complete asks once and returns what the model wrote, which may be no JSON: a model that was
// only told to write some may wrap it in a fence. Usage is 0 where the server does not count.
//
// It is ErrRefused if the model or a filter declines, ErrTruncated if the answer is not
// whole, and ErrMalformed if there is none. These have used tokens, and are not tried again.
func (l *LLM) Complete(ctx context.Context, req model.Request) (*model.Response, error) {
	if err := validateRequest(&req); err != nil {
		return nil, err
	}
	try := l.learnt.start(&req)
	for {
		resp, err := l.ask(ctx, &req, try)
		if err == nil {
			l.learnt.worked(ctx, l.client.cfg.Logger, l.cfg.Name, &req, try)
			return resp, nil
		}
		next, ok := try.without(refusedIn(err), &req)
		if !ok {
			return nil, err
		}
		try = next
	}
}

func validateRequest(req *model.Request) error {
	switch {
	case strings.TrimSpace(req.System+req.Prompt) == "":
		return errors.New("openai: the request has neither System nor Prompt")
	case req.MaxTokens < 0:
		return errors.New("openai: Request.MaxTokens is negative")
	case len(req.Schema) > 0 && !json.Valid(req.Schema):
		return errors.New("openai: Request.Schema is no JSON")
	}
	const longest = 64
	if len(req.SchemaName) > longest || strings.ContainsFunc(req.SchemaName, func(r rune) bool { return r == '.' || odd(r) }) {
		return errors.New("openai: Request.SchemaName must be at most 64 letters, digits, _ and -")
	}
	return nil
}

// ask makes one request in the form that try says.
func (l *LLM) ask(ctx context.Context, req *model.Request, try attemptForm) (*model.Response, error) {
	body := try.body(l.cfg.Model, req)
	texts := []string{req.System, req.Prompt}
	most := Cost{
		Model:        l.cfg.Name,
		PromptTokens: tokensAtMost([]string{req.System, req.Prompt, string(req.Schema), instructions}),
		AnswerTokens: int64(cmp.Or(req.MaxTokens, l.cfg.AssumedAnswer)),
	}
	var out *model.Response
	r := &request{op: "complete with " + l.cfg.Name, tenant: l.tenant, most: most, texts: texts}
	r.send = func(ctx context.Context, wire *goopenai.Client, x *exchange) (Cost, error) {
		resp, err := wire.CreateChatCompletion(ctx, body)
		if err != nil {
			return Cost{}, x.explain(err)
		}
		usage := resp.Usage
		used := Cost{PromptTokens: int64(usage.PromptTokens), AnswerTokens: int64(usage.CompletionTokens)}
		if failed(&resp) {
			if err := x.hidden(); err != nil {
				return used, err
			}
		}
		text, err := answer(&resp)
		if used.AnswerTokens <= 0 {
			used.AnswerTokens = int64(len(text)) // no token is shorter than a byte
		}
		out = &model.Response{
			JSON:  []byte(text),
			Usage: model.Usage{PromptTokens: max(0, usage.PromptTokens), AnswerTokens: max(0, usage.CompletionTokens)},
		}
		return used, err
	}
	if err := l.client.call(ctx, r); err != nil {
		return nil, err
	}
	return out, nil
}
