package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

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

// maxRedactions is how often a text is classified again after its secrets were redacted. What
// is left can look like a secret for standing beside the mark that replaced another.
const maxRedactions = 8

// redact classifies a text and does with its secrets what the rule says: it returns the text
// without them, how many there were, and what is left. blocked reports that nothing of the
// text may be kept, because the rule says so or because secrets remain.
func (k *Kernel) redact(ctx context.Context, rule mem.SecretRule, text string) (kept string, secrets int, left classify.Result, blocked bool, err error) {
	for range maxRedactions {
		left, err = k.classifyText(ctx, text)
		n := countSecrets(&left)
		if err != nil || n == 0 || rule == mem.SecretsAllow {
			return text, secrets, left, false, err
		}
		secrets += n
		if rule == mem.SecretsBlock {
			return text, secrets, left, true, nil
		}
		text = classify.Redact(text, left.Findings)
	}
	return text, secrets, left, true, nil
}

func countSecrets(r *classify.Result) (n int) {
	for _, f := range r.Findings {
		if f.Kind.Secret() {
			n++
		}
	}
	return n
}

// redactAside is redact for what stands beside memories: the question of an audit row, the reason
// of a retraction. It asks no scanner, and where texts are blocked it redacts. What it cannot
// redact it drops.
func (k *Kernel) redactAside(rule mem.SecretRule, text string) string {
	for range maxRedactions {
		if rule == mem.SecretsAllow || text == "" {
			return text
		}
		left := k.classifier.Classify(text)
		if countSecrets(&left) == 0 {
			return text
		}
		text = classify.Redact(text, left.Findings)
	}
	return ""
}

// screen classifies a draft, its source included, and does with its secrets what policy says.
// changed reports that the draft is not what it was and has to be looked up anew; a text that
// policy blocks is rejected, and nothing of it may be kept.
func (k *Kernel) screen(ctx context.Context, policy *mem.EffectivePolicy, d *writepath.Draft) (secrets int, changed bool, rejected mem.RejectReason, err error) {
	text, secrets, result, blocked, err := k.redact(ctx, policy.WriteSecrets, d.Text)
	if err != nil {
		return 0, false, "", err
	}
	result.Declare(d.Sensitivity)
	d.Classification = result.Classification()
	if d.ContentKey != "" {
		key, more, _, also, err := k.redact(ctx, policy.WriteSecrets, d.ContentKey)
		if err != nil {
			return 0, false, "", err
		}
		if d.ContentKey != d.Source { // the same secrets are counted there
			secrets += more
		}
		blocked = blocked || also
		changed = key != d.ContentKey
		d.ContentKey = key
	}
	if d.Source != "" {
		source, more, of, also, err := k.redact(ctx, policy.WriteSecrets, d.Source)
		if err != nil {
			return 0, false, "", err
		}
		secrets, blocked = secrets+more, blocked || also
		d.Source = source
		if len(of.Findings) > 0 {
			join(&d.Classification, of.Classification())
		}
	}
	if blocked {
		return secrets, false, mem.RejectSecret, nil
	}
	changed = changed || text != d.Text
	d.Text = text
	return secrets, changed, "", nil
}

// join makes a the classification of its text and of what b classifies together. What b says on
// how it speaks is not said of the text.
func join(a *mem.Classification, b mem.Classification) {
	a.Sensitivity = classify.Max(a.Sensitivity, b.Sensitivity)
	a.Destinations = classify.DestinationsFor(a.Sensitivity)
	a.PIISubjects = union(a.PIISubjects, b.PIISubjects)
	a.SecretKinds = union(a.SecretKinds, b.SecretKinds)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
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
