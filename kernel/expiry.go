package kernel

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/writepath"
)

const (
	// expiryBatch is how many memories get their end on record in one transaction, for which the
	// writers of their namespace wait at its end.
	expiryBatch = 50
	// expiryNamespaces is how many namespaces are looked up at once.
	expiryNamespaces = 100
)

// describeExpiry puts on record when a memory that was stored is to end by itself.
func describeExpiry(cur *current, d *writepath.Draft) {
	if !d.ExpiresAt.IsZero() {
		cur.detail.Str("expires_at", d.ExpiresAt.UTC().Format(time.RFC3339Nano))
	}
}

// stampExpired puts the ends of memories that have expired on record, until all are there. No
// answer depends on it: it keeps what searches have to leave out small. It is no syscall and
// leaves no audit row; the row of the write says when the memory was to end.
func (k *Kernel) stampExpired(ctx context.Context, _ jobs.Run[jobs.Expire]) error {
	for all := 0; ; {
		n, err := k.stampSome(ctx)
		all += n
		switch {
		case err != nil:
			k.logger.LogAttrs(ctx, slog.LevelWarn, "ends of expired memories not put on record", slog.String("error", store.Detail(err)))
			return err
		case n > 0:
			continue
		case all > 0:
			k.logger.LogAttrs(ctx, slog.LevelInfo, "ends of expired memories put on record", slog.Int("memories", all))
		}
		return nil
	}
}

// stampSome is one round. It returns 0 when there is nothing left but what others are at.
func (k *Kernel) stampSome(ctx context.Context) (stamped int, err error) {
	now := k.clock()
	due, err := k.store.Expired(ctx, now, expiryNamespaces)
	if err != nil {
		return 0, err
	}
	for i := range due {
		for n := expiryBatch; n == expiryBatch; stamped += n {
			var failed error
			if n, failed = k.store.StampExpired(ctx, &due[i], now, expiryBatch); failed != nil {
				err = errors.Join(err, failed) // one namespace that is busy does not keep the others
			}
		}
	}
	return stamped, err
}
