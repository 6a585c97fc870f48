package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// scenario is one column of its tables: an operation that every contender does under one setting.
type scenario struct {
	id, setting string
	goroutines  int      // 0: one
	warm, span  [3]int64 // milliseconds of a full, a quick and a tiny run
	least       int64    // operations of each goroutine in a sample; 0: one
	rounds      int      // at most; 0: all of them
	latencies   bool     // of single operations, which must take a microsecond or more
	tables      []report.Comparison
}

// line names the samples of a contender.
func line(workload, setting, who string) report.Line {
	return report.Line{Workload: workload, Setting: setting, Contender: who}
}

// op is one operation. Its numbers differ from call to call.
type op func(ctx context.Context, i int) error

// contender is one row: what it does under a scenario. The functions without an error fail by
// [setup.Check].
type contender struct {
	name   string
	op     op
	each   func(g int) op                        // in place of op: another one for each goroutine
	per    int64                                 // the operations in a call of op; 0: one
	before func()                                // before each sample
	start  func()                                // after the warm-up
	after  func(l report.Line, r measure.Result) // after each sample: a check, or more numbers
	sample func(l report.Line)                   // in place of op
}

// compare samples all contenders of a scenario, in turn. Its tables get another column.
func (e *Env) compare(s *scenario, all []contender) {
	e.show(s, all)
	measure.Rounds(e.ctx, min(e.Rounds, cmp.Or(s.rounds, e.Rounds)), len(all), func(i int) {
		if err := setup.Try(func() { e.sample(s, &all[i]) }); err != nil {
			setup.Check(fmt.Errorf("%s, %s: %w", s.setting, all[i].name, err))
		}
	})
}

// show adds a scenario to its tables.
func (e *Env) show(s *scenario, all []contender) {
	for _, t := range s.tables {
		at := slices.IndexFunc(e.tables, func(u *report.Comparison) bool { return u.Title == t.Title })
		if at < 0 {
			t.Workload = s.id
			at, e.tables = len(e.tables), append(e.tables, &t)
		}
		u := e.tables[at]
		u.Settings = append(u.Settings, s.setting)
		for _, c := range all {
			if !slices.Contains(u.Contenders, c.name) {
				u.Contenders = append(u.Contenders, c.name)
			}
		}
	}
}

// sample takes one sample of a contender.
func (e *Env) sample(s *scenario, c *contender) {
	l := line(s.id, s.setting, c.name)
	if c.before != nil {
		c.before()
	}
	var r measure.Result
	if c.sample != nil {
		c.sample(l)
	} else {
		r = e.measure(s, c)
		e.add(l, r)
	}
	if c.after != nil {
		c.after(l, r)
	}
}

// measure runs the operation of a contender.
func (e *Env) measure(s *scenario, c *contender) measure.Result {
	ctx := e.ctx
	var failed atomic.Pointer[error]
	cfg := measure.Config{Goroutines: s.goroutines, Warm: e.ms(s.warm), For: e.ms(s.span), Least: s.least, Latencies: s.latencies, Start: c.start}
	r := measure.Run(ctx, cfg, func(g int) func(int) {
		do := c.op
		if c.each != nil {
			do = c.each(g)
		}
		return func(i int) {
			if err := do(ctx, i); err != nil {
				first := err // not err itself: it would be on the heap in every operation
				failed.CompareAndSwap(nil, &first)
			}
		}
	})
	if err := failed.Load(); err != nil {
		setup.Check(*err)
	}
	per := max(c.per, 1)
	r.Ops, r.Allocs, r.Bytes = r.Ops*per, r.Allocs/float64(per), r.Bytes/float64(per)
	return r
}

// open opens a peer that holds every key below n, and lasts as long as t.
func open(t *setup.T, name string, opts peers.Options, n int, of func(int64) peers.Value) peers.Peer {
	s := setup.Must(peers.ByName(name))
	p := s.Open(opts)
	t.Cleanup(p.Close)
	if err := fill(t.Context(), p, s.Loads, n, of); err != nil {
		t.Fatalf("filling %s: %w", name, err)
	}
	return p
}

// openTiers opens tiers that last as long as t.
func openTiers(t *setup.T, cfg cache.TiersConfig) *cache.Tiers {
	tiers := setup.Must(cache.Open(cfg))
	t.Closing(func() error { return tiers.Close(context.Background()) })
	return tiers
}

// twofold is open for a cache of the library with more options.
func twofold(t *setup.T, opts peers.Options, with peers.Twofold, n int) *peers.TwofoldPeer {
	p := peers.NewTwofold(opts, with)
	t.Cleanup(p.Close)
	setup.Check(fill(t.Context(), p, true, n, peers.Small))
	return p
}

// fill makes a peer hold the keys below n. Loading peers load them. Other peers get them by Set and
// then a read, so a peer that reads from elsewhere has a local copy. It uses many
// goroutines, because some of the work goes to a server.
func fill(ctx context.Context, p peers.Peer, loads bool, n int, of func(int64) peers.Value) error {
	const fillers = 16
	all, ctx := errgroup.WithContext(ctx)
	for g := range fillers {
		all.Go(func() error {
			for id := g; id < n && ctx.Err() == nil; id += fillers {
				k := peers.KeyOf(int64(id))
				if !loads {
					if err := p.Set(ctx, &k, of(k.ID)); err != nil {
						return err
					}
				}
				if id/fillers%64 == 0 {
					p.Settle() // a full write queue loses writes
				}
				p.Get(ctx, &k)
			}
			return ctx.Err()
		})
	}
	err := all.Wait()
	p.Settle()
	return err
}

func loadSmall(_ context.Context, id int64) (peers.Value, error) { return peers.Small(id), nil }

// beside returns the contender with something that runs beside it during each sample, until its
// context ends.
func (c contender) beside(t *setup.T, run func(context.Context) error) contender {
	var wg sync.WaitGroup
	var stop context.CancelFunc
	var failed error
	before, after := c.before, c.after
	c.before = func() {
		var ctx context.Context
		ctx, stop = context.WithCancel(t.Context())
		wg.Go(func() { failed = run(ctx) })
		if before != nil {
			before()
		}
	}
	c.after = func(l report.Line, r measure.Result) {
		stop()
		wg.Wait()
		setup.Check(failed)
		if after != nil {
			after(l, r)
		}
	}
	return c
}
