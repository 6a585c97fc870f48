// Package workload contains the measurements: one or more files for each workload. A workload
// measures its contenders in turn, records the samples in a Book, and makes its tables from them.
//
//	A local hits               E a million entries
//	B remote hits              G invalidation
//	C stampedes                I logs and cells in databases
//	D hit ratios               J pages by HTTP
package workload

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// Size is the size of a run.
type Size uint8

// The sizes. Full gives the published results, Quick gives a rough result within two minutes, and
// Tiny proves that everything works.
const (
	Full Size = iota
	Quick
	Tiny
)

// Env is the environment of workloads. Make one with Open.
type Env struct {
	Book   report.Book
	Rounds int // samples of each contender
	Size   Size
	Log    io.Writer // progress

	ctx     context.Context // of the whole, for operations: a lookup in that of a part takes longer
	t       *setup.T        // of the present part, or of the whole
	servers [4]*redistest.Server
	far     *redistest.Proxy // of the first server
	left    []string         // the programs that were left out, with the reasons

	tables []*report.Comparison // of what was compared, in that order
}

// Open starts the servers that workloads share. Each peer with a client-side cache gets its own
// server, because writes of other peers on that server would evict its keys.
func Open(ctx context.Context, size Size, rounds int, log io.Writer) (*Env, error) {
	e := &Env{Rounds: max(rounds, 1), Size: size, Log: log, t: setup.New(ctx)}
	e.ctx = e.t.Context()
	err := setup.Try(func() {
		for i := range e.servers {
			e.servers[i] = redistest.Start(e.t)
		}
		e.far = redistest.NewProxy(e.t, e.servers[0].Addr())
	})
	if err != nil {
		e.Close()
		return nil, fmt.Errorf("workload: %w", err)
	}
	return e, nil
}

// Close ends the servers.
func (e *Env) Close() { e.t.Close() }

// serverOf returns the address of the server of a peer.
func (e *Env) serverOf(name string) string {
	i := map[string]int{"rueidis DoCache": 1, "go-redis CSC": 2, "go-redis/cache": 3}[name]
	return e.servers[i].Addr()
}

// client returns a client of the server that Twofold uses.
func (e *Env) client() *redis.Client {
	rdb := peers.Client(e.serverOf("twofold"))
	e.t.Closing(rdb.Close)
	return rdb
}

// by chooses a value by the size of the run.
func by[T any](e *Env, full, quick, tiny T) T {
	switch e.Size {
	case Quick:
		return quick
	case Tiny:
		return tiny
	default:
		return full
	}
}

func (e *Env) logf(format string, args ...any) { fmt.Fprintf(e.Log, format+"\n", args...) }

// add records the samples that every workload has.
func (e *Env) add(l report.Line, r measure.Result) {
	e.Book.Add(l, nsOp, r.NsPerOp())
	e.Book.Add(l, allocsOp, r.Allocs)
	e.Book.Add(l, bytesOp, r.Bytes)
	if len(r.Times) > 0 {
		e.addQuantiles(l, r.Times)
	}
}

// The units of several workloads.
const (
	nsOp     = "ns/op"
	cpuOp    = "CPU ns/op"
	allocsOp = "allocs/op"
	bytesOp  = "B/op"
	p50      = "p50-ns"
	p99      = "p99-ns"
)

// addQuantiles records the quantiles of a run with latencies.
func (e *Env) addQuantiles(l report.Line, times []time.Duration) {
	e.Book.Add(l, p50, float64(measure.Quantile(times, 0.5)))
	e.Book.Add(l, p99, float64(measure.Quantile(times, 0.99)))
}

// drop empties the servers.
func (e *Env) drop() {
	for _, s := range e.servers {
		s.Do(e.t, "FLUSHALL")
	}
}

// options returns the options for opening a peer.
func (e *Env) options(name string, entries int, load peers.Loader) peers.Options {
	return peers.Options{Entries: entries, Redis: e.serverOf(name), Prefix: redistest.Prefix(), Load: load}
}

// Workload is one measurement.
type Workload struct {
	ID, Title string
	parts     []func(*Env)            // what one opens is closed before the next
	more      func(*Env) report.Table // a table of another form
}

// Tables returns the tables of a workload that was done.
func (w Workload) Tables(e *Env) (all []report.Table) {
	if w.more != nil {
		return []report.Table{w.more(e)}
	}
	for _, t := range e.tables {
		if t.Workload == w.ID {
			all = append(all, t.Table(&e.Book))
		}
	}
	return all
}

// All returns the workloads in their order. Their parts are methods: in a closure that a function
// returns, the compiler inlines less of a measured operation.
func All() []Workload {
	type parts = []func(*Env)
	return []Workload{
		{"A", "Local hits", parts{
			func(e *Env) { e.localHits(smallValue, peers.Small) },
			func(e *Env) { e.localHits(largeValue, peers.Large) },
			(*Env).hitKinds, (*Env).hitStates,
			func(e *Env) { e.misses(missRoomy, by(e, 1_000_000, 200_000, 20_000)) },
			func(e *Env) { e.misses(missTight, by(e, 20_000, 5000, 500)) },
		}, nil},
		{"B", "Remote hits", parts{(*Env).remoteHits}, nil},
		{"C", "Stampedes", parts{func(e *Env) { e.crowd(32) }, func(e *Env) { e.crowd(1000) }, (*Env).stampedes}, nil},
		{"D", "Hit ratios", parts{(*Env).hitRatios}, hitRatioTable},
		{"E", "A million entries", parts{(*Env).memory}, nil},
		{"G", "Invalidation", parts{
			func(e *Env) { e.calls("one call", 0) },
			func(e *Env) { e.calls("Redis 500 µs away", network) },
			func(e *Env) { e.readsBeside(oneTierReads, false) },
			func(e *Env) { e.readsBeside("reads, two tiers", true) },
		}, nil},
		{"I", "Logs and cells in databases", parts{(*Env).databases}, nil},
		{"J", "Pages by HTTP", parts{(*Env).http}, nil},
	}
}

// Do runs a workload. After each part it empties the servers, so that no part pays for the memory of
// another.
func (w Workload) Do(e *Env) error {
	start, whole := time.Now(), e.t
	for _, run := range w.parts {
		e.t = whole.Part()
		err := setup.Try(func() { run(e) })
		e.t.Close()
		e.t = whole
		if err == nil {
			err = setup.Try(e.drop)
		}
		if err != nil {
			return fmt.Errorf("workload %s: %w", w.ID, err)
		}
	}
	e.logf("%s %s: %.0f s", w.ID, w.Title, time.Since(start).Seconds())
	return nil
}

// ms chooses a number of milliseconds by the size of the run.
func (e *Env) ms(of [3]int64) time.Duration {
	return time.Duration(by(e, of[0], of[1], of[2])) * time.Millisecond
}
