package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// Brownout names a part that was down while a call was served without it. A degraded answer
// always says so, in the reply and in the audit row.
type Brownout string

// BrownoutEmbedder says that the embedding model failed: words alone were used, or the memory
// was stored without a vector.
const BrownoutEmbedder Brownout = "embedder_unavailable"

// BrownoutWithheld says that a text was not sent to the embedding model, because what it holds
// may not leave for there: words alone were used, or the memory was stored without a vector.
const BrownoutWithheld Brownout = "embedding_withheld"

// errEmbedding is a fault of the model, or that the text may not go there (errWithheld); it
// degrades a call, it does not fail it.
var (
	errEmbedding = errors.New("embedding failed")
	errWithheld  = fmt.Errorf("%w: the text may not be sent to the model", errEmbedding)
)

// embedBrownout is what a reply says of an embedding that failed.
func embedBrownout(err error) Brownout {
	if errors.Is(err, errWithheld) || errors.Is(err, errScanner) {
		return BrownoutWithheld
	}
	return BrownoutEmbedder
}

// embedQuery is embed for a text that has not been classified.
func (k *Kernel) embedQuery(ctx context.Context, tenant, text string) ([]float32, error) {
	if k.model.InProcess {
		return k.embed(ctx, tenant, text, nil)
	}
	result, err := k.classifyText(ctx, text)
	if err != nil {
		return nil, err
	}
	class := result.Classification()
	return k.embed(ctx, tenant, text, &class)
}

// embed returns, on behalf of a tenant, the unit vector of a text, nil for a text in which the model sees nothing.
// It fails with errEmbedding when the model does or when the text's classification, which may
// be nil for a model in the process, keeps it from there, and with the context's error when the
// caller has gone. No transaction or connection of the kernel's is held meanwhile.
func (k *Kernel) embed(ctx context.Context, tenant, text string, class *mem.Classification) ([]float32, error) {
	vectors, err := k.embedMany(ctx, tenant, []string{text}, []*mem.Classification{class})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// embedMany is embed for several texts, in one call of the model. One that may not go there
// keeps all of them.
func (k *Kernel) embedMany(ctx context.Context, tenant string, texts []string, classes []*mem.Classification) ([][]float32, error) {
	info := k.model
	if slices.ContainsFunc(classes, func(class *mem.Classification) bool { return !k.maySend(class) }) {
		return nil, errWithheld
	}
	limited, cancel := context.WithTimeout(ctx, k.limits.ModelTimeout)
	defer cancel()
	begun := k.now()
	vectors, err := k.askModel(limited, &info, tenant, texts)
	modelInfo := ModelInfo{Model: info.Name, Texts: len(texts), Err: err, Duration: k.now().Sub(begun)}
	runHooks(ctx, k, func(h ModelHook) { h.ModelCall(ctx, modelInfo) })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errEmbedding, err)
	case len(vectors) != len(texts):
		return nil, fmt.Errorf("%w: the model returned %d vectors for %d texts", errEmbedding, len(vectors), len(texts))
	}
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		if len(v) != info.Dim {
			return nil, fmt.Errorf("%w: the model did not return one vector of %d components", errEmbedding, info.Dim)
		}
		if out[i], err = unit(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maySend reports whether a text so classified may be sent to the embedding model. The
// classification may be nil for a model in the process.
func (k *Kernel) maySend(class *mem.Classification) bool {
	to := destination(&k.model)
	return to == mem.DestinationLocal || class.MaySend(to)
}

// askModel asks a remote model on a goroutine of its own, so that one that hangs, whatever
// its context says, does not take the caller with it. A model in the process cannot hang.
func (k *Kernel) askModel(ctx context.Context, info *model.Info, tenant string, texts []string) ([][]float32, error) {
	if info.InProcess {
		return k.callModel(ctx, tenant, texts)
	}
	type answer struct {
		vectors [][]float32
		err     error
	}
	a, err := aside(ctx, k.stuck, "model "+info.Name, func() (a answer) {
		a.vectors, a.err = k.callModel(ctx, tenant, texts)
		return a
	})
	if err != nil {
		return nil, err
	}
	return a.vectors, a.err
}

func (k *Kernel) callModel(ctx context.Context, tenant string, texts []string) (vectors [][]float32, err error) {
	defer func() {
		if r := recover(); r != nil {
			k.logPanic(ctx, "embedder", r)
			vectors, err = nil, mem.ErrInternal
		}
	}()
	embedder := k.embedder
	if accounts, ok := embedder.(model.TenantEmbedder); ok {
		embedder = accounts.For(tenant)
	}
	return embedder.Embed(ctx, texts)
}

// unit scales a vector to length 1, in a copy; the zero vector becomes nil.
func unit(v []float32) ([]float32, error) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("%w: a component is not finite", errEmbedding)
	}
	if sum == 0 {
		return nil, nil
	}
	scale := 1 / math.Sqrt(sum)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) * scale)
	}
	return out, nil
}
