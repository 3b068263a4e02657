package kernel

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

const (
	// gapBatch is how many texts the model is given at once.
	gapBatch = 32
	// A text at which the model has failed is left alone for a while, longer each time, so that
	// one that it can never embed does not stand in the way of the others.
	firstGapPause = time.Minute
	lastGapPause  = time.Hour
	// modelDown is how many texts the model has to fail at in a row to be taken for down.
	modelDown = 2
)

// fillGaps embeds the memories that were stored without a vector, until none is left or the
// model is down again. It holds no transaction and no connection while the model thinks.
func (k *Kernel) fillGaps(ctx context.Context, _ jobs.Run[jobs.Embed]) error {
	for filled, failed := 0, 0; ; {
		found, err := k.store.Gaps(ctx, k.clock(), gapBatch)
		gaps := found
		if err == nil {
			gaps, err = k.dropHopeless(ctx, found)
		}
		if err == nil && len(gaps) == 0 && len(found) > 0 {
			continue // those are gone, and there may be more
		}
		if err != nil || len(gaps) == 0 {
			if filled > 0 {
				k.logger.LogAttrs(ctx, slog.LevelInfo, "vectors added", slog.Int("memories", filled))
			}
			return err
		}
		// The first alone: it costs little to find out that the model is still down.
		n, err := k.fillSingly(ctx, gaps[:1])
		filled += n
		if err == nil && n > 0 && len(gaps) > 1 {
			n, err = k.fillBatch(ctx, gaps[1:])
			filled += n
		}
		failed++
		if n > 0 {
			failed = 0
		}
		switch {
		case errors.Is(err, errEmbedding), failed == modelDown:
			return nil // the next interval is soon enough
		case err != nil:
			return err
		}
	}
}

// dropHopeless closes the gaps of memories that are no more, and of those whose text may not be
// sent to the model. Their classification never changes: what it forbids is no work to be done.
func (k *Kernel) dropHopeless(ctx context.Context, gaps []store.Gap) (rest []store.Gap, err error) {
	for i := range gaps {
		if gaps[i].Text != "" && k.maySend(&gaps[i].Classification) {
			rest = append(rest, gaps[i])
		} else if err := k.store.FillGap(ctx, &gaps[i], nil); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// fillBatch embeds texts in one call or, if that fails, one by one, to find the one that it
// fails at.
func (k *Kernel) fillBatch(ctx context.Context, gaps []store.Gap) (filled int, err error) {
	texts, classes := make([]string, len(gaps)), make([]*mem.Classification, len(gaps))
	for i := range gaps {
		texts[i], classes[i] = gaps[i].Text, &gaps[i].Classification
	}
	vectors, err := k.embedMany(ctx, texts, classes)
	if errors.Is(err, errEmbedding) {
		return k.fillSingly(ctx, gaps)
	}
	if err != nil {
		return 0, err
	}
	for i := range gaps {
		if err := k.store.FillGap(ctx, &gaps[i], vectors[i]); err != nil {
			return i, err
		}
	}
	return len(gaps), nil
}

// fillSingly embeds texts one by one and puts off those that the model fails at. It fails with
// errEmbedding if the model seems to be down.
func (k *Kernel) fillSingly(ctx context.Context, gaps []store.Gap) (filled int, err error) {
	failed := 0
	for i := range gaps {
		gap := &gaps[i]
		embedding, err := k.embed(ctx, gap.Text, &gap.Classification)
		switch {
		case errors.Is(err, errEmbedding):
			if err := k.store.DeferGap(ctx, gap, k.clock().Add(gapPause(gap.Attempts))); err != nil {
				return filled, err
			}
			if failed++; failed == modelDown {
				return filled, errEmbedding
			}
			continue
		case err != nil:
			return filled, err
		}
		failed = 0
		if err := k.store.FillGap(ctx, gap, embedding); err != nil {
			return filled, err
		}
		filled++
	}
	return filled, nil
}

// gapPause is how long a text is left alone that the model has failed at before.
func gapPause(attempts int) time.Duration {
	pause := firstGapPause
	for range min(attempts, 10) {
		pause = min(2*pause, lastGapPause)
	}
	return pause
}
