package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/population"
)

// ratios lets everybody of growing populations ask for a daily digest once, as the
// document's model has it.
func (b *bench) ratios(ctx context.Context) error {
	t := b.table("Hit ratio: each user asks for a daily digest once. Promised: the source document, §7.1.")
	fmt.Fprintln(t, "users\tcombinations\tcalls\thits\tpromised\tcalls cut\tpromised\t\tif no source were popular\ttook")
	for _, users := range b.Sizes {
		row := population.Nearest(users)
		began := time.Now()
		got, err := b.ratio(ctx, users, false)
		if err != nil {
			return err
		}
		took := time.Since(began)
		even, err := b.ratio(ctx, users, true)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%.1f%%\t%.0f%%\t%.1fx\t%.1fx\t%s\t%.1f%%\t%v\n",
			users, got.combinations, got.calls, 100*got.hits, 100*row.HitRatio, got.cut, row.CallsCut,
			b.verdict(got.hits >= row.HitRatio && got.cut >= row.CallsCut), 100*even.hits, took.Round(10*time.Millisecond))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(b.Out)
	return nil
}

type ratio struct {
	combinations, calls int64
	hits                float64 // 0 to 1
	cut                 float64 // how many times fewer calls
}

// ratio counts by what was really called: a hit is a user who cost no call.
func (b *bench) ratio(ctx context.Context, users int, uniform bool) (r ratio, err error) {
	w, err := b.newWorld(ctx, users, uniform)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	report, err := w.GenerateAll(ctx, digest.Daily)
	if err = errors.Join(err, report.Err()); err != nil {
		return r, err
	}
	stats, err := w.Digests.Stats(ctx, time.Time{})
	if err != nil {
		return r, err
	}
	r = ratio{combinations: stats.UniqueHashes, calls: w.scribe.calls.Load()}
	if report.Outcomes[digest.Ready] != users || r.calls != r.combinations {
		return r, fmt.Errorf("bench: %d of %d users have a digest, %d calls for %d combinations",
			report.Outcomes[digest.Ready], users, r.calls, r.combinations)
	}
	r.hits = 1 - float64(r.calls)/float64(users)
	r.cut = float64(users) / float64(r.calls)
	return r, nil
}
