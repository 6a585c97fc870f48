package sqltier

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	sweepChunk = 1000             // rows of one statement
	sweepShare = 16               // a table of n rows is swept once in n/16 fills
	sweepLeast = 64               // and not more often than once in as many fills
	sweepTime  = 30 * time.Second // the longest that a sweep of its own accord takes
)

// sweeper is what a Tier knows about the size of its table.
type sweeper struct {
	left atomic.Int64 // fills until the next sweep
	busy atomic.Bool  // a sweep of its own accord is under way

	rows, bytes            atomic.Int64 // when they were last measured
	expired, evicted, errs atomic.Int64 // see Stats
}

// Sweep removes the rows that have expired. Then it removes values, those that expire
// first, until the table keeps [Config.MaxBytes]. It returns how many rows it removed.
//
// No program has to call it. Every process sweeps of its own accord: first within its 64
// fills, then whenever it has filled as many cells as a sixteenth of the rows. That
// runs beside the fill, in a goroutine that ends with the sweep and after half a minute
// at the latest. Nothing but the size of the table rests on it, because no other call
// sees an expired row. Several processes may sweep at once.
func (t *Tier) Sweep(ctx context.Context) (removed int64, err error) {
	if err := t.ready(ctx); err != nil {
		return 0, fail("sweep", err)
	}
	s := &t.sweeper
	n, err := t.clear(ctx, expire, 1<<62)
	s.expired.Add(n)
	removed = n
	for err == nil {
		var excess int64
		if excess, err = t.excess(ctx); err != nil || excess == 0 {
			break
		}
		n, err = t.clear(ctx, evict, excess)
		s.evicted.Add(n)
		removed += n
		if n == 0 {
			break // leases alone, which stay
		}
	}
	return removed, fail("sweep", err)
}

// clear removes up to limit rows, some at a time: others want to write, too.
func (t *Tier) clear(ctx context.Context, which int, limit int64) (removed int64, err error) {
	for removed < limit {
		most := min(limit-removed, sweepChunk)
		n, err := t.exec(ctx, nil, which, most)
		removed += n
		if err != nil || n < most {
			return removed, err
		}
	}
	return removed, nil
}

// excess measures the table and returns how many rows of average size are too many.
func (t *Tier) excess(ctx context.Context) (int64, error) {
	st, err := t.runner(ctx, nil, measure)
	if err != nil {
		return 0, err
	}
	var rows, bytes int64
	if err := st.QueryRowContext(ctx).Scan(&rows, &bytes); err != nil {
		return 0, err
	}
	s := &t.sweeper
	s.rows.Store(rows)
	s.bytes.Store(bytes)
	s.left.Store(max(rows/sweepShare, sweepLeast)) // to measure reads all rows
	over := bytes - t.cfg.MaxBytes
	if over <= 0 {
		return 0, nil
	}
	return int64(float64(rows)*float64(over)/float64(bytes)) + 1, nil
}

// filled counts fills, and sweeps when there were enough.
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

// safeSweep makes an error of a driver's panic, which would end the program.
func (t *Tier) safeSweep(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sqltier: sweep: panic of type %T", p)
		}
	}()
	_, err = t.Sweep(ctx)
	return err
}
