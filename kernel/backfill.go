package kernel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
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
		n, refused, err := k.fillSingly(ctx, gaps[:1])
		filled += n
		if err == nil && n+refused > 0 && len(gaps) > 1 {
			n, refused, err = k.fillBatches(ctx, gaps[1:])
			filled += n
		}
		failed++
		if n+refused > 0 {
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
		} else if err := k.store.FillGap(ctx, &gaps[i], nil, k.clock()); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// fillBatches embeds texts in one call for each tenant.
func (k *Kernel) fillBatches(ctx context.Context, gaps []store.Gap) (filled, refused int, err error) {
	slices.SortStableFunc(gaps, func(a, b store.Gap) int { return cmp.Compare(a.Tenant, b.Tenant) })
	for len(gaps) > 0 && err == nil {
		n := 1
		for n < len(gaps) && gaps[n].Tenant == gaps[0].Tenant {
			n++
		}
		var done, no int
		done, no, err = k.fillBatch(ctx, gaps[:n])
		filled, refused, gaps = filled+done, refused+no, gaps[n:]
	}
	return filled, refused, err
}

// fillBatch embeds texts of one tenant in one call or, if that fails, one by one, to find the one
// that it fails at.
func (k *Kernel) fillBatch(ctx context.Context, gaps []store.Gap) (filled, refused int, err error) {
	texts, classes := make([]string, len(gaps)), make([]*mem.Classification, len(gaps))
	for i := range gaps {
		texts[i], classes[i] = gaps[i].Text, &gaps[i].Classification
	}
	vectors, err := k.embedMany(ctx, gaps[0].Tenant, texts, classes)
	if errors.Is(err, errEmbedding) {
		return k.fillSingly(ctx, gaps)
	}
	if err != nil {
		return 0, 0, err
	}
	for i := range gaps {
		if err := k.store.FillGap(ctx, &gaps[i], vectors[i], k.clock()); err != nil {
			return i, 0, err
		}
	}
	return len(gaps), 0, nil
}

// fillSingly embeds texts one by one and puts off those that the model fails at. It fails with
// errEmbedding if the model seems to be down. One that it refused, or whose tenant has spent its
// budget, says nothing of the model.
func (k *Kernel) fillSingly(ctx context.Context, gaps []store.Gap) (filled, refused int, err error) {
	failed := 0
	for i := range gaps {
		gap := &gaps[i]
		embedding, err := k.embed(ctx, gap.Tenant, gap.Text, &gap.Classification)
		switch {
		case errors.Is(err, errEmbedding):
			if err := k.store.DeferGap(ctx, gap, k.clock().Add(gapPause(gap.Attempts))); err != nil {
				return filled, refused, err
			}
			if errors.Is(err, model.ErrFinal) {
				refused++
				continue
			}
			if failed++; failed == modelDown {
				return filled, refused, errEmbedding
			}
			continue
		case err != nil:
			return filled, refused, err
		}
		failed = 0
		if err := k.store.FillGap(ctx, gap, embedding, k.clock()); err != nil {
			return filled, refused, err
		}
		filled++
	}
	return filled, refused, nil
}

// gapPause is how long a text is left alone that the model has failed at before.
func gapPause(attempts int) time.Duration {
	pause := firstGapPause
	for range min(attempts, 10) {
		pause = min(2*pause, lastGapPause)
	}
	return pause
}
