package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/classify"
)

// errScanner is a fault of the host's scanner. It fails the call: what cannot be classified
// is not let through.
var errScanner = errors.New("classifier failed")

// classifyText says what a text holds, by the built-in rules and the host's scanner.
func (k *Kernel) classifyText(ctx context.Context, text string) (classify.Result, error) {
	result := k.classifier.Classify(text)
	if k.scanner == nil {
		return result, nil
	}
	limited, cancel := context.WithTimeout(ctx, k.limits.ModelTimeout)
	defer cancel()
	type answer struct {
		found []classify.Finding
		err   error
	}
	a, err := aside(limited, k.stuck, "classifier", func() (a answer) {
		defer func() {
			if r := recover(); r != nil {
				k.logPanic(ctx, "classifier", r)
				a.err = mem.ErrInternal
			}
		}()
		a.found, a.err = k.scanner.Scan(limited, text)
		return a
	})
	if err == nil {
		err = a.err
	}
	if err == nil {
		err = result.Merge(text, a.found)
	}
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case err != nil:
		// Its words may be the text's.
		k.logger.LogAttrs(ctx, slog.LevelError, "classifier failed", slog.String("error", fmt.Sprintf("%T", err)))
		return result, fmt.Errorf("%w: %w", mem.ErrUnavailable, errScanner)
	}
	return result, nil
}

// screen classifies a draft and does with its secrets what policy says. changed reports that
// the draft is not what it was and has to be looked up anew; a text that policy blocks is
// rejected, and nothing of it may be kept.
func (k *Kernel) screen(ctx context.Context, policy *mem.EffectivePolicy, d *writepath.Draft) (secrets int, changed bool, rejected mem.RejectReason, err error) {
	result, err := k.classifyText(ctx, d.Text)
	if err != nil {
		return 0, false, "", err
	}
	for _, f := range result.Findings {
		if f.Kind.Secret() {
			secrets++
		}
	}
	if secrets > 0 && policy.WriteSecrets == mem.SecretsBlock {
		return secrets, false, mem.RejectSecret, nil
	}
	if secrets > 0 && policy.WriteSecrets == mem.SecretsRedact {
		d.Text = classify.Redact(d.Text, result.Findings)
		changed = true
		if result, err = k.classifyText(ctx, d.Text); err != nil {
			return 0, false, "", err
		}
	}
	result.Declare(d.Sensitivity)
	d.Classification = result.Classification()
	return secrets, changed, "", nil
}

// destination says where a text goes that is sent to a model.
func destination(m *model.Info) mem.Destination {
	switch {
	case m.InProcess:
		return mem.DestinationLocal
	case m.Trusted:
		return mem.DestinationTrustedModel
	default:
		return mem.DestinationRemoteModel
	}
}
