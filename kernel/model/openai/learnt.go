package openai

import (
	"context"
	"log/slog"
	"sync"

	"github.com/memkernel/memkernel/kernel/model"
)

// learnt is what a server was seen to refuse. Only what has worked instead is remembered, so
// an error that was misread changes nothing.
type learnt struct {
	mu       sync.Mutex
	format   Format            // the strictest that the server takes
	schemas  map[string]Format // of schemas that it takes only in a weaker form; "" is none
	oldBound bool
}

// maxSchemas bounds the schemas that are remembered; further ones are tried every time.
const maxSchemas = 64

func newLearnt(format Format, official bool) *learnt {
	// The older name is the one that every other server understands.
	return &learnt{format: format, schemas: map[string]Format{}, oldBound: !official}
}

// start returns the form to try first.
func (l *learnt) start(req *model.Request) attemptForm {
	l.mu.Lock()
	defer l.mu.Unlock()
	form := attemptForm{format: max(l.format, l.schemas[string(req.Schema)]), oldBound: l.oldBound}
	if len(req.Schema) == 0 {
		form.format = max(form.format, FormatObject)
	}
	form.began = form.format
	return form
}

// worked remembers a form in which a request has succeeded.
func (l *learnt) worked(ctx context.Context, log *slog.Logger, name string, req *model.Request, form attemptForm) {
	l.mu.Lock()
	changed := false
	switch key := string(req.Schema); {
	case form.format == form.began:
	case form.onlySchema || key == "":
		_, known := l.schemas[key]
		if changed = !known && len(l.schemas) < maxSchemas; changed {
			l.schemas[key] = form.format
		}
	default:
		changed = form.format > l.format
		l.format = max(l.format, form.format)
	}
	if form.flipped && l.oldBound != form.oldBound {
		l.oldBound = form.oldBound
		changed = true
	}
	l.mu.Unlock()
	if changed {
		log.LogAttrs(ctx, slog.LevelInfo, "model server refuses a part of the protocol, doing without",
			slog.String("model", name), slog.String("format", form.format.String()), slog.Bool("old_bound", form.oldBound))
	}
}
