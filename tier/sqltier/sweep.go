package sqltier

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	sweepChunk = 1000             // rows of one statement
	sweepShare = 16               // a process sweeps a table of n rows once in n/16 fills
	sweepLeast = 64               // but at most once in this number of fills
	sweepTime  = 30 * time.Second // the limit of a sweep that the tier started
)

// sweeper holds what a Tier knows about the size of its table.
type sweeper struct {
	left atomic.Int64 // fills until the next sweep
	busy atomic.Bool  // a sweep that the tier started is running

	rows, bytes            atomic.Int64 // when they were last measured
	expired, evicted, errs atomic.Int64 // see Stats
}

// Sweep removes the rows that have expired. Then it removes values, those that expire first,
// until the table is within [Config.MaxBytes]. It returns how many rows it removed.
//
// No program has to call it. Every process sweeps by itself: first within its 64 fills, then
// whenever it has filled as many cells as a sixteenth of the rows. Such a sweep runs in its own
// goroutine, for at most half a minute. Only the size of the table depends on it, because no other
// call sees an expired row. Several processes may sweep concurrently.
func (t *Tier) Sweep(ctx context.Context) (removed int64, err error) {
	if err := t.ready(ctx); err != nil {
		return 0, fail("sweep", err)
	}
	s := &t.sweeper
	n, err := t.clear(ctx, expire)
	s.expired.Add(n)
	removed = n
	for err == nil {
		var over bool
		if over, err = t.measure(ctx); err != nil || !over {
			break
		}
		n, err = t.clear(ctx, evict, t.cfg.MaxBytes)
		s.evicted.Add(n)
		removed += n
		if n == 0 {
			break // only leases are left, which stay
		}
	}
	return removed, fail("sweep", err)
}

// clear removes the rows that a statement finds, in chunks, because other writers must be able to
// go on. The arguments follow the size of the chunk.
func (t *Tier) clear(ctx context.Context, which int, args ...any) (removed int64, err error) {
	args = append([]any{int64(sweepChunk)}, args...)
	for {
		n, err := t.exec(ctx, nil, which, args...)
		removed += n
		if err != nil || n < sweepChunk {
			return removed, err
		}
	}
}

// measure reads all rows, and reports whether their bytes exceed MaxBytes.
func (t *Tier) measure(ctx context.Context) (over bool, err error) {
	var rows, bytes int64
	if err := t.one(ctx, nil, measure, nil, &rows, &bytes); err != nil {
		return false, err
	}
	s := &t.sweeper
	s.rows.Store(rows)
	s.bytes.Store(bytes)
	s.left.Store(max(rows/sweepShare, sweepLeast))
	return bytes > t.cfg.MaxBytes, nil
}

// filled counts fills, and starts a sweep after enough of them.
func (t *Tier) filled(fills int) {
	s := &t.sweeper
	if s.left.Add(int64(-fills)) > 0 || !s.busy.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.busy.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
		defer cancel()
		if err := t.safeSweep(ctx); err != nil {
			s.errs.Add(1)
			s.left.Store(sweepLeast)
		}
	}()
}

// safeSweep turns a driver's panic, which would end the program, into an error.
func (t *Tier) safeSweep(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sqltier: sweep: panic of type %T", p)
		}
	}()
	_, err = t.Sweep(ctx)
	return err
}
