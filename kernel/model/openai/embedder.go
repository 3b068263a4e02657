package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/memkernel/memkernel/kernel/model"
)

const (
	// DefaultBatch is how many texts go into one request unless EmbedderConfig.Batch says
	// otherwise. OpenAI takes it and far more; servers of your own may take fewer.
	DefaultBatch = 256

	// MaxBatch is the most texts of a request that OpenAI takes.
	MaxBatch = 2048

	// MaxBatchBytes bounds how many bytes of text go into one request, unless a single
	// text is longer. OpenAI takes 300,000 tokens, and no token is shorter than a byte.
	MaxBatchBytes = 300_000
)

// EmbedderConfig describes an embedding model.
type EmbedderConfig struct {
	// Model is the endpoint's name for the model: on Azure the deployment's.
	Model string

	// Name and Revision are what Info reports and the kernel stores with every vector, so
	// they must be the same for the same model at every endpoint. Name is Model if empty:
	// set it where an endpoint has a name of its own for a model, such as a deployment or
	// "openai/text-embedding-3-small". Revision is "1" if empty: change it when the same
	// name yields other vectors, after a quantisation for example.
	Name, Revision string

	// Dimensions, if not 0, asks the model for vectors of so many components. Not all
	// models can shorten theirs.
	Dimensions int

	// Dim is how many components the model's vectors have by itself. It may be left out
	// if Dimensions is given, or for OpenAI's own models, which are known by Name.
	Dim int

	// Batch is the most texts of a request, 1 to MaxBatch, default DefaultBatch. It is
	// lowered where the vectors would not fit into Config.MaxResponseBytes.
	Batch int
}

// Embedder is an embedding model. It is safe for concurrent use. Client.Embedder makes one.
type Embedder struct {
	client *Client
	cfg    EmbedderConfig
	tenant string
}

var _ model.TenantEmbedder = (*Embedder)(nil)

// Embedder returns a model of the endpoint. It does no I/O. It fails if cfg has no meaning,
// or does not say how many components vectors have.
func (c *Client) Embedder(cfg EmbedderConfig) (*Embedder, error) {
	cfg.Name = cmp.Or(cfg.Name, cfg.Model)
	cfg.Revision = cmp.Or(cfg.Revision, "1")
	cfg.Batch = cmp.Or(cfg.Batch, DefaultBatch)
	if err := c.validateModel("EmbedderConfig.Model", cfg.Model); err != nil {
		return nil, err
	}
	switch {
	case cfg.Dimensions < 0 || cfg.Dim < 0:
		return nil, errors.New("openai: EmbedderConfig.Dim or Dimensions is negative")
	case cfg.Batch < 1 || cfg.Batch > MaxBatch:
		return nil, fmt.Errorf("openai: EmbedderConfig.Batch is %d, must be 1 to %d", cfg.Batch, MaxBatch)
	}
	if cfg.Dim = cmp.Or(cfg.Dimensions, cfg.Dim, knownDim(cfg.Name)); cfg.Dim == 0 {
		return nil, fmt.Errorf("openai: EmbedderConfig.Dim: how many components %s returns is not known here", cfg.Name)
	}
	const component = 25 // bytes of a float64 in JSON, with its comma and a space
	cfg.Batch = min(cfg.Batch, int(max(1, c.cfg.MaxResponseBytes/int64(component*cfg.Dim+100))))
	return &Embedder{client: c, cfg: cfg}, nil
}

// knownDim returns how many components a model of OpenAI's returns, or 0.
func knownDim(name string) int {
	switch goopenai.EmbeddingModel(name) {
	case goopenai.SmallEmbedding3, goopenai.AdaEmbeddingV2:
		return 1536
	case goopenai.LargeEmbedding3:
		return 3072
	default:
		return 0
	}
}

// validateModel checks a model's name. On Azure it becomes part of the path.
func (c *Client) validateModel(field, name string) error {
	if name == "" {
		return fmt.Errorf("openai: %s is empty", field)
	}
	if c.azure() && strings.ContainsFunc(name, odd) {
		return fmt.Errorf("openai: %s %q is no name of a deployment", field, name)
	}
	return nil
}

// For returns a view of the embedder whose requests use the tenant's budget. It costs next
// to nothing: make one per call.
func (e *Embedder) For(tenant string) model.Embedder {
	view := *e
	view.tenant = tenant
	return &view
}

// Info describes the model, with nothing in it of the endpoint.
func (e *Embedder) Info() model.Info {
	return model.Info{Name: e.cfg.Name, Revision: e.cfg.Revision, Dim: e.cfg.Dim}
}

// Embed returns one vector per text, in order. Texts are sent as they are, in as few requests
// as the bounds of Batch and MaxBatchBytes allow, one after the other. A text that is blank
// is not sent, because servers refuse it: its vector is all zeros.
//
// If a request fails for good, so does the call, and what others have returned is dropped.
// A text that is too long for the model is such a failure, an *APIError. Vectors that are
// too few, too short, out of order or not finite are ErrMalformed.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for _, batch := range batches(texts, e.cfg.Batch, MaxBatchBytes) {
		asked := make([]string, len(batch))
		for i, at := range batch {
			asked[i] = texts[at]
		}
		vectors, err := e.ask(ctx, asked)
		if err != nil {
			return nil, err
		}
		for i, at := range batch {
			out[at] = vectors[i]
		}
	}
	for i, v := range out {
		if v == nil {
			out[i] = make([]float32, e.cfg.Dim)
		}
	}
	return out, nil
}

// batches splits the texts that are not blank, by their positions, into batches of so many
// texts and bytes at most. A text of more bytes has a batch of its own.
func batches(texts []string, count, bytes int) [][]int {
	var out [][]int
	size := 0
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if n := len(out); n == 0 || len(out[n-1]) == count || size+len(text) > bytes {
			out = append(out, nil)
			size = 0
		}
		out[len(out)-1] = append(out[len(out)-1], i)
		size += len(text)
	}
	return out
}

// ask makes one request.
func (e *Embedder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	var vectors [][]float32
	r := &request{
		op:     "embed with " + e.cfg.Name,
		tenant: e.tenant,
		most:   Cost{Model: e.cfg.Name, PromptTokens: tokensAtMost(texts)},
		texts:  texts,
	}
	r.send = func(ctx context.Context, wire *goopenai.Client, x *exchange) (Cost, error) {
		resp, err := wire.CreateEmbeddings(ctx, goopenai.EmbeddingRequestStrings{
			Input: texts, Model: goopenai.EmbeddingModel(e.cfg.Model), Dimensions: e.cfg.Dimensions,
			EncodingFormat: goopenai.EmbeddingEncodingFormatFloat,
		})
		if err != nil {
			return Cost{}, x.explain(err)
		}
		used := Cost{PromptTokens: int64(resp.Usage.PromptTokens)}
		if len(resp.Data) == 0 {
			if err := x.hidden(); err != nil {
				return used, err
			}
		}
		vectors, err = inOrder(resp.Data, x.body, len(texts), e.cfg.Dim)
		return used, err
	}
	if err := e.client.call(ctx, r); err != nil {
		return nil, err
	}
	return vectors, nil
}

// tokensAtMost bounds how many tokens texts are: one a byte, and some that mark where a text
// begins and ends.
func tokensAtMost(texts []string) int64 {
	const marks = 8
	var sum int64
	for _, text := range texts {
		sum += int64(len(text)) + marks
	}
	return sum
}
