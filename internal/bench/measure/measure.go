// Package measure times operations. It runs a number of goroutines for a time, and returns their
// time, processor time and allocations. On request it also returns the latency of each operation.
//
// One call of Run takes one sample. Contenders are sampled in turn, round by round (Rounds), so
// that other load on the machine affects all of them alike.
package measure

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

// Config says how to run an operation.
type Config struct {
	Goroutines int           // 0: one
	For        time.Duration // each goroutine runs at least one operation, however short this is
	Least      int64         // operations of each goroutine, however long they take; a run that is interrupted has few
	Warm       time.Duration // run for this long before; not counted
	Start      func()        // called after the warm-up; may be nil
	Latencies  bool          // keep each operation's time; for operations of a microsecond or more
}

// Result is the result of one run, over all goroutines.
type Result struct {
	Ops    int64
	Wall   time.Duration
	CPU    time.Duration // of the whole process; 0 if unknown
	Allocs float64       // per operation, including background work
	Bytes  float64       // allocated per operation
	Times  []time.Duration
}

// NsPerOp returns the time of the run divided by its operations: the inverse of the throughput, for
// any number of goroutines.
func (r Result) NsPerOp() float64 { return float64(r.Wall) / float64(max(r.Ops, 1)) }

// PerSecond returns the throughput.
func (r Result) PerSecond() float64 { return float64(r.Ops) / max(r.Wall.Seconds(), 1e-9) }

// CPUPerOp returns the processor time of this process per operation, in nanoseconds.
func (r Result) CPUPerOp() float64 { return float64(r.CPU) / float64(max(r.Ops, 1)) }

// Quantile returns the element of a sorted list that a share q of the list does not exceed, by the
// nearest rank. It returns 0 for an empty list.
func Quantile[T ~int64](sorted []T, q float64) T {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Run runs operations until the time is over or ctx ends. Each goroutine calls worker once to get
// its operation. It then calls the operation with numbers that start far apart from those of other
// goroutines.
func Run(ctx context.Context, c Config, worker func(g int) func(i int)) Result {
	c.Goroutines = max(c.Goroutines, 1)
	loops := make([]loop, c.Goroutines)
	for g := range loops {
		loops[g] = loop{op: worker(g), at: g * apart, latencies: c.Latencies, least: c.Least}
	}
	if c.Warm > 0 {
		together(ctx, loops, c.Warm)
		for g := range loops {
			loops[g].ops, loops[g].times = 0, nil
		}
	}
	if c.Start != nil {
		c.Start()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := CPU()
	r := Result{Wall: together(ctx, loops, c.For)}
	r.CPU = CPU() - cpu
	runtime.ReadMemStats(&after)
	for g := range loops {
		r.Ops += loops[g].ops
		r.Times = append(r.Times, loops[g].times...)
	}
	r.Allocs = float64(after.Mallocs-before.Mallocs) / float64(max(r.Ops, 1))
	r.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(max(r.Ops, 1))
	slices.Sort(r.Times)
	return r
}

// together runs all loops and returns the duration.
func together(ctx context.Context, loops []loop, d time.Duration) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for g := range loops {
		wg.Go(func() { loops[g].run(ctx, start.Add(d)) })
	}
	wg.Wait()
	return time.Since(start)
}

// apart is the distance between the goroutines' first numbers.
const apart = 7919 * 13

// loop is one goroutine's part.
type loop struct {
	op        func(int)
	at        int
	latencies bool
	least     int64
	ops       int64
	times     []time.Duration
}

// Reading the clock costs as much as a fast operation. So operations run in batches, which grow
// until one takes about batchTime.
const (
	batchTime = 100 * time.Microsecond
	maxBatch  = 1 << 12
)

func (l *loop) run(ctx context.Context, end time.Time) {
	batch := 1
	for now := time.Now(); ; {
		for range batch {
			l.op(l.at)
			l.at++
		}
		l.ops += int64(batch)
		done := time.Now()
		took := done.Sub(now)
		if l.latencies {
			l.times = append(l.times, took) // batch stays at one
		} else if took < batchTime && batch < maxBatch {
			batch *= 2
		}
		now = done
		if !now.Before(end) && l.ops >= l.least || ctx.Err() != nil {
			return
		}
	}
}

// Rounds calls measure with every number below n once in each round. Every round starts with another
// number, so that no contender always follows the same one. If a contender left much garbage, a
// collection runs before the next one is measured. Rounds fails by [setup.Check].
func Rounds(ctx context.Context, rounds, n int, measure func(i int)) {
	clean := int64(0)
	for at := range rounds * n {
		clean = tidy(clean)
		measure((at%n + at/n) % n)
		setup.Check(ctx.Err())
	}
}

// tidy runs a collection if the heap has grown by more than a little since it was clean. It returns
// the clean size. It does not run each time: with all contenders of a workload in memory, a
// collection takes longer than a sample.
func tidy(clean int64) int64 {
	const little = 16 << 20
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if int64(m.HeapAlloc) <= clean+little {
		return clean
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
