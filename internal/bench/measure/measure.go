// Package measure times operations: so many goroutines for so long, what they
// took in time, processor and allocations, and, where that is asked for, how
// long each of them took.
//
// One call is one sample. Samples of contenders are taken in turn, round by
// round (Rounds), so that what else the machine does hits all of them alike.
package measure

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Config says how to run an operation.
type Config struct {
	Goroutines int           // 0: one
	For        time.Duration // at least one operation of each goroutine is run, however short
	Warm       time.Duration // run so long before; it does not count
	Latencies  bool          // keep each operation's time; for operations of a microsecond and more
}

// Result is what one run took, over all goroutines.
type Result struct {
	Ops    int64
	Wall   time.Duration
	CPU    time.Duration // of this process, whoever used it; 0 where it cannot be told
	Allocs float64       // per operation, those of background work included
	Bytes  float64       // allocated per operation
	Times  []time.Duration
}

// NsPerOp is the time of the run divided by its operations: the inverse of the
// throughput, whatever the number of goroutines.
func (r Result) NsPerOp() float64 { return float64(r.Wall) / float64(max(r.Ops, 1)) }

// PerSecond is the throughput.
func (r Result) PerSecond() float64 { return float64(r.Ops) / max(r.Wall.Seconds(), 1e-9) }

// CPUPerOp is the processor time of this process per operation, in nanoseconds.
func (r Result) CPUPerOp() float64 { return float64(r.CPU) / float64(max(r.Ops, 1)) }

// Quantile is the time that a share q of the operations stayed within.
func (r Result) Quantile(q float64) time.Duration { return Quantile(r.Times, q) }

// Quantile is the element of a sorted list that a share q of it does not
// exceed; 0 of an empty list.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// Run runs operations until the time is over or ctx ends. Each goroutine calls
// worker once for an operation of its own and then that with numbers that
// start far apart.
func Run(ctx context.Context, c Config, worker func(g int) func(i int)) Result {
	c.Goroutines = max(c.Goroutines, 1)
	loops := make([]loop, c.Goroutines)
	for g := range loops {
		loops[g] = loop{op: worker(g), at: g * apart, latencies: c.Latencies}
	}
	if c.Warm > 0 {
		together(ctx, loops, c.Warm)
		for g := range loops {
			loops[g].ops, loops[g].times = 0, nil
		}
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

// together runs all loops and returns how long that took.
func together(ctx context.Context, loops []loop, d time.Duration) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for g := range loops {
		wg.Go(func() { loops[g].run(ctx, start.Add(d)) })
	}
	wg.Wait()
	return time.Since(start)
}

// apart is how far from each other the goroutines start.
const apart = 7919 * 13

// loop is one goroutine's part.
type loop struct {
	op        func(int)
	at        int
	latencies bool
	ops       int64
	times     []time.Duration
}

// A look at the clock costs as much as a fast operation, so operations are run
// in batches that grow until one takes about batchTime.
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
		if !now.Before(end) || ctx.Err() != nil {
			return
		}
	}
}

// Contender is what is measured beside others.
type Contender struct {
	Name    string
	Measure func(ctx context.Context) error
}

// Rounds measures every contender once in each of so many rounds. Every round
// starts with another one, so that nobody always follows the same. A garbage
// collection after one that left much keeps its rubbish from the other's time.
func Rounds(ctx context.Context, rounds int, all []Contender) error {
	clean := int64(0)
	for round := range rounds {
		for i := range all {
			c := all[(i+round)%len(all)]
			clean = tidy(clean)
			if err := c.Measure(ctx); err != nil {
				return &ContenderError{c.Name, err}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// tidy collects when the heap has grown by more than a little since it was
// clean, and returns how large it was or is then. With every contender
// of a workload in memory, a collection takes longer than a sample.
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

// ContenderError says whose measurement failed.
type ContenderError struct {
	Name string
	Err  error
}

func (e *ContenderError) Error() string { return "measure: " + e.Name + ": " + e.Err.Error() }

// Unwrap returns why.
func (e *ContenderError) Unwrap() error { return e.Err }
