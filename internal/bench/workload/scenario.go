package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
)

// scenario is one column of its tables: an operation that every contender does under one setting.
type scenario struct {
	id, setting string
	goroutines  int      // 0: one
	warm, span  [3]int64 // milliseconds of a full, a quick and a tiny run
	rounds      int      // at most; 0: all of them
	latencies   bool     // of single operations, which must take a microsecond or more
	tables      []report.Comparison
}

// op is one operation. Its numbers differ from call to call.
type op func(ctx context.Context, i int) error

// contender is one row: what it does under a scenario.
type contender struct {
	name   string
	op     op
	each   func(g int) op                                 // in place of op: another one for each goroutine
	per    int64                                          // the operations in a call of op; 0: one
	before func(ctx context.Context) error                // before each sample
	start  func()                                         // after the warm-up
	after  func(l report.Line, r measure.Result) error    // after each sample: a check, or more numbers
	sample func(ctx context.Context, l report.Line) error // in place of all these
}

// compare samples all contenders of a scenario, in turn. Its tables get another column.
func (e *Env) compare(ctx context.Context, s *scenario, all []contender) error {
	e.show(s, all)
	cs := make([]measure.Contender, len(all))
	for i, c := range all {
		l := report.Line{Workload: s.id, Setting: s.setting, Contender: c.name}
		cs[i] = measure.Contender{Name: c.name, Measure: func(ctx context.Context) error {
			if c.sample != nil {
				return c.sample(ctx, l)
			}
			return e.sample(ctx, s, &c, l)
		}}
	}
	return measure.Rounds(ctx, min(e.Rounds, cmp.Or(s.rounds, e.Rounds)), cs)
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
func (e *Env) sample(ctx context.Context, s *scenario, c *contender, l report.Line) error {
	if c.before != nil {
		if err := c.before(ctx); err != nil {
			return err
		}
	}
	var failed atomic.Pointer[error]
	cfg := measure.Config{Goroutines: s.goroutines, Warm: e.ms(s.warm), For: e.ms(s.span), Latencies: s.latencies, Start: c.start}
	r := measure.Run(ctx, cfg, func(g int) func(int) {
		do := c.op
		if c.each != nil {
			do = c.each(g)
		}
		return func(i int) {
			if err := do(ctx, i); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		}
	})
	if err := failed.Load(); err != nil {
		return *err
	}
	per := max(c.per, 1)
	r.Ops, r.Allocs, r.Bytes = r.Ops*per, r.Allocs/float64(per), r.Bytes/float64(per)
	e.add(l, r)
	if c.after != nil {
		return c.after(l, r)
	}
	return nil
}

// owned is what a scenario has opened.
type owned []func()

func (o *owned) add(end func()) { *o = append(*o, end) }

func (o *owned) close() {
	for _, end := range slices.Backward(*o) {
		end()
	}
}

// peer opens a peer that holds every key below n.
func (o *owned) peer(ctx context.Context, name string, opts peers.Options, n int, of func(int64) peers.Value) (peers.Peer, error) {
	s, err := peers.ByName(name)
	if err != nil {
		return nil, err
	}
	p, err := s.Open(opts)
	if err != nil {
		return nil, err
	}
	o.add(p.Close)
	if err := Fill(ctx, p, s.Loads, n, of); err != nil {
		return nil, fmt.Errorf("filling %s: %w", name, err)
	}
	return p, nil
}

// twofold is peer for a cache of the library with more options.
func (o *owned) twofold(ctx context.Context, opts peers.Options, with peers.Twofold, n int) (*peers.TwofoldPeer, error) {
	p, err := peers.NewTwofold(opts, with)
	if err != nil {
		return nil, err
	}
	o.add(p.Close)
	return p, Fill(ctx, p, true, n, peers.Small)
}

// Fill makes a peer hold the keys below n. Loading peers load them. Other peers get them by Set and
// then a read, so that a peer that reads from elsewhere has a local copy. Fill uses many
// goroutines, because some of the work goes to a server.
func Fill(ctx context.Context, p peers.Peer, loads bool, n int, of func(int64) peers.Value) error {
	const fillers = 16
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for g := range fillers {
		wg.Go(func() {
			for id := g; id < n && failed.Load() == nil && ctx.Err() == nil; id += fillers {
				k := peers.KeyOf(int64(id))
				if !loads {
					if err := p.Set(ctx, &k, of(k.ID)); err != nil {
						failed.Store(&err)
						return
					}
				}
				if id/fillers%64 == 0 {
					p.Settle() // a full write queue loses writes
				}
				p.Get(ctx, &k)
			}
		})
	}
	wg.Wait()
	p.Settle()
	if err := failed.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

func loadSmall(_ context.Context, id int64) (peers.Value, error) { return peers.Small(id), nil }
