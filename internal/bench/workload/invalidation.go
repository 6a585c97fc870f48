package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/invalidate"
)

// Workload G invalidates with the complete protocol: a log and a remote tier on one server. It
// compares a call with a bare round trip, and measures reads during a thousand invalidations a
// second.

const (
	callSetting  = "one call"
	farSetting   = "Redis 500 µs away"
	network      = 500 * time.Microsecond // shows the number of round trips
	readsSetting = "reads"
	strictBound  = 250 * time.Millisecond
)

// Groups of keys with their own prefixes: the ids 2100000 to 2199999, 22000 to 22999, and 23.
const (
	hugePrefix, hugeFirst, huge    = "21", int64(2_100_000), 100_000
	largePrefix, largeFirst, large = "22", int64(22_000), 1000
	onePrefix                      = "23"
)

const spacePrefix = "bench:v1:"

func tagOf(id int64) string { return "org:" + strconv.FormatInt(id%100, 10) }

func runInvalidation(ctx context.Context, e *Env) error {
	if err := e.calls(ctx, callSetting, e.server(0)); err != nil {
		return err
	}
	e.rigs[0].Delay(0, network)
	if err := e.calls(ctx, farSetting, e.rigs[0].Server(0).Addrs[0]); err != nil {
		return err
	}
	return e.readsBeside(ctx)
}

// call is one kind of invalidation and the number of measurements.
type call struct {
	name   string
	times  int
	fill   []int64 // keys read before, so that there is something to invalidate
	invoke func(ctx context.Context, i int) error
}

func (e *Env) callsOf(p *peers.TwofoldPeer, rdb *redis.Client) []call {
	some := by(e, 200, 50, 5)
	scope := func(s ...invalidate.Scope) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error { return p.Tiers.Invalidate(ctx, s...) }
	}
	return []call{
		{barePing, some, nil, func(ctx context.Context, _ int) error { return rdb.Ping(ctx).Err() }},
		{"key", some, ids(largeFirst, large), func(ctx context.Context, i int) error { return p.Cache.Delete(ctx, largeFirst+int64(i%large)) }},
		{"prefix of 1 key", some, []int64{23}, scope(invalidate.Prefix(cache.DefaultTenant, spacePrefix+onePrefix))},
		{"prefix of 1,000 keys", some, ids(largeFirst, large), scope(invalidate.Prefix(cache.DefaultTenant, spacePrefix+largePrefix))},
		{"prefix of 100,000 keys", some, ids(hugeFirst, by(e, huge, huge/10, huge/100)), scope(invalidate.Prefix(cache.DefaultTenant, spacePrefix+hugePrefix))},
		{"tag", some, ids(largeFirst, large), scope(invalidate.Tag(cache.DefaultTenant, tagOf(7)))},
		{"key, Strict", 1, ids(largeFirst, 1), func(ctx context.Context, _ int) error { return p.Cache.Delete(ctx, largeFirst, invalidate.Strict) }},
	}
}

func ids(first int64, n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = first + int64(i)
	}
	return all
}

// calls measures every kind of call on the server at addr.
func (e *Env) calls(ctx context.Context, setting, addr string) error {
	o := e.options("twofold", 2*huge, loadSmall)
	o.Redis = addr
	p, err := peers.NewTwofold(o, peers.Twofold{
		Log: true, Bound: strictBound,
		Tags: func(id int64, _ peers.Value) []string { return []string{tagOf(id)} },
	})
	if err != nil {
		return err
	}
	defer p.Close()
	rdb := peers.Client(addr)
	defer func() { _ = rdb.Close() }() // no calls are under way
	var cs []measure.Contender
	for _, c := range e.callsOf(p, rdb) {
		cs = append(cs, measure.Contender{Name: c.name, Measure: func(ctx context.Context) error {
			for batch := range slices.Chunk(c.fill, 1000) {
				if _, err := p.Cache.GetMany(ctx, batch); err != nil {
					return err
				}
			}
			times := make([]time.Duration, c.times)
			for i := range times {
				start := time.Now()
				if err := c.invoke(ctx, i); err != nil {
					return err
				}
				times[i] = time.Since(start)
			}
			if err := checkGone(ctx, p, c.fill, c.name); err != nil {
				return err
			}
			slices.Sort(times)
			e.addQuantiles(report.Line{Workload: "G", Setting: setting, Contender: c.name}, times)
			return nil
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

// checkGone checks that a key that the call covered is no longer cached.
func checkGone(ctx context.Context, p *peers.TwofoldPeer, filled []int64, name string) error {
	if len(filled) == 0 {
		return nil
	}
	id := filled[0]
	if name == "tag" {
		id = filled[7]
	}
	if _, ok := p.Cache.Peek(ctx, id); ok {
		return fmt.Errorf("after %q key %d is still there", name, id)
	}
	return nil
}

// storms are the invalidations that come a thousand times a second during reads.
var storms = []struct {
	name  string
	scope func(i int) invalidate.Scope
}{
	{"none", nil},
	{"1,000/s of other keys", func(i int) invalidate.Scope { return keyScope(5_000_000 + int64(i)) }},
	{"1,000/s of other prefixes", func(i int) invalidate.Scope { return invalidate.Prefix("default", fmt.Sprint("other:", i%1000)) }},
	{"1,000/s of other tags", func(i int) invalidate.Scope { return invalidate.Tag(cache.DefaultTenant, fmt.Sprint("other:", i%1000)) }},
	{"1,000/s of keys that are read", func(i int) invalidate.Scope { return keyScope(int64(i % 10_000)) }},
}

func readsLine(tiers, storm string) report.Line {
	return report.Line{Workload: "G", Setting: readsSetting + ", " + tiers, Contender: storm}
}

// readsBeside measures reads with and without a log. Without a log, the invalidations themselves
// cost almost nothing, so the difference is the cost for the reads.
func (e *Env) readsBeside(ctx context.Context) error {
	n := by(e, 10_000, 10_000, 500)
	stream := KeyStream(n, 1<<16)
	var cs []measure.Contender
	for tiers, log := range map[string]bool{"one tier": false, "two tiers": true} {
		p, err := peers.NewTwofold(e.options("twofold", 2*n, loadSmall), peers.Twofold{Log: log})
		if err != nil {
			return err
		}
		defer p.Close()
		if err := Fill(ctx, p, true, n, peers.Small); err != nil {
			return err
		}
		for _, s := range storms {
			cs = append(cs, measure.Contender{Name: tiers + ", " + s.name, Measure: func(ctx context.Context) error {
				return e.readsUnder(ctx, readsLine(tiers, s.name), p, stream, s.scope)
			}})
		}
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

func (e *Env) readsUnder(ctx context.Context, l report.Line, p *peers.TwofoldPeer, stream []peers.Key, scope func(int) invalidate.Scope) error {
	storm, cancel := context.WithCancel(ctx)
	var failed error
	var wg sync.WaitGroup
	if scope != nil {
		wg.Go(func() { failed = rain(storm, p, scope) })
	}
	r := measure.Run(ctx, measure.Config{Warm: e.ms(50, 20, 2), For: e.ms(300, 80, 5)}, func(int) func(int) {
		return func(i int) { p.Get(ctx, &stream[i&(len(stream)-1)]) }
	})
	cancel()
	wg.Wait()
	e.add(l, r)
	return failed
}

// rain invalidates every millisecond until ctx ends.
func rain(ctx context.Context, p *peers.TwofoldPeer, scope func(int) invalidate.Scope) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := p.Tiers.Invalidate(ctx, scope(i)); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
}
