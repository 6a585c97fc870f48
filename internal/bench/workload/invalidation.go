package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// Workload G invalidates with the complete protocol: a log and a remote tier on one server. It
// compares a call with a bare round trip, and measures reads during a thousand invalidations a
// second.

const (
	network     = 500 * time.Microsecond // shows the number of round trips
	settleBound = 250 * time.Millisecond

	oneTierReads = "reads, one tier"
)

// Groups of keys with their own prefixes: the ids 2100000 to 2199999, 22000 to 22999, and 23.
const (
	hugePrefix, hugeFirst, huge    = "21", int64(2_100_000), 100_000
	largePrefix, largeFirst, large = "22", int64(22_000), 1000
	onePrefix                      = "23"
)

const spacePrefix = "bench:v1:"

func tagOf(id int64) string { return "org:" + strconv.FormatInt(id%100, 10) }

// keyScope returns the scope of one key in the benchmark's space.
func keyScope(id int64) invalidate.Scope {
	space := key.Space{Tenant: cache.DefaultTenant, Namespace: "bench:v1"}
	return invalidate.Key(setup.Must(space.Key(setup.Must(key.Of(id)))))
}

// call is one kind of invalidation.
type call struct {
	name   string
	fill   []int64 // keys read before, so there is something to invalidate
	gone   int     // which of them the call covers
	invoke op
}

func (e *Env) callsOf(p *peers.TwofoldPeer, rdb *redis.Client) []call {
	scope := func(s ...invalidate.Scope) op {
		return func(ctx context.Context, _ int) error { return p.Tiers.Invalidate(ctx, s...) }
	}
	prefix := func(text string) op { return scope(invalidate.Prefix(cache.DefaultTenant, spacePrefix+text)) }
	return []call{
		{barePing, nil, 0, func(ctx context.Context, _ int) error { return rdb.Ping(ctx).Err() }},
		{"key", ids(largeFirst, large), 0, func(ctx context.Context, i int) error { return p.Cache.Delete(ctx, largeFirst+int64(i%large)) }},
		{"prefix of 1 key", []int64{23}, 0, prefix(onePrefix)},
		{"prefix of 1,000 keys", ids(largeFirst, large), 0, prefix(largePrefix)},
		{"prefix of 100,000 keys", ids(hugeFirst, by(e, huge, huge/10, huge/100)), 0, prefix(hugePrefix)},
		{"tag", ids(largeFirst, large), 7, scope(invalidate.Tag(cache.DefaultTenant, tagOf(7)))},
		{"key, and Settle", ids(largeFirst, 1), 0, func(ctx context.Context, _ int) error {
			return errors.Join(p.Cache.Delete(ctx, largeFirst), p.Tiers.Settle(ctx))
		}},
	}
}

func ids(first int64, n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = first + int64(i)
	}
	return all
}

// calls measures every kind of call on a server that is some time away.
func (e *Env) calls(setting string, away time.Duration) {
	o := e.options("twofold", 2*huge, loadSmall)
	if away > 0 {
		e.far.Delay(away)
		o.Redis = e.far.Addr()
	}
	p := twofold(e.t, o, peers.Twofold{
		Log: true, Bound: settleBound,
		Tags: func(id int64, _ peers.Value) []string { return []string{tagOf(id)} },
	}, 0)
	rdb := peers.Client(o.Redis)
	e.t.Closing(rdb.Close)
	var cs []contender
	for _, c := range e.callsOf(p, rdb) {
		cs = append(cs, contender{
			name: c.name, op: c.invoke,
			before: func() {
				for batch := range slices.Chunk(c.fill, 1000) {
					setup.Must(p.Cache.GetMany(e.t.Context(), batch))
				}
			},
			after: func(report.Line, measure.Result) {
				if c.fill == nil {
					return
				}
				if _, ok := p.Cache.Peek(e.t.Context(), c.fill[c.gone]); ok {
					e.t.Fatalf("after %q key %d is still there", c.name, c.fill[c.gone])
				}
			},
		})
	}
	e.compare(&scenario{id: "G", setting: setting, span: [3]int64{200, 50, 5}, latencies: true, tables: []report.Comparison{{
		Title: "G: one invalidation, with a log on the same machine", Reference: barePing, Unit: p50, More: []string{p99},
		Note: fmt.Sprintf("Settle waits for the bound, %v here.", settleBound),
	}}}, cs)
}

// storms are the invalidations that come ten thousand times a second during reads, in a thousand calls.
var storms = []struct {
	name  string
	scope func(i int) invalidate.Scope
}{
	{"none", nil},
	{"10,000/s of other keys", func(i int) invalidate.Scope { return keyScope(5_000_000 + int64(i)) }},
	{"10,000/s of other prefixes", func(i int) invalidate.Scope { return invalidate.Prefix("default", fmt.Sprint("other:", i%1000)) }},
	{"10,000/s of other tags", func(i int) invalidate.Scope { return invalidate.Tag(cache.DefaultTenant, fmt.Sprint("other:", i%1000)) }},
	{"10,000/s of keys that are read", func(i int) invalidate.Scope { return keyScope(int64(i % 10_000)) }},
}

// readsBeside measures reads with and without a log. Without a log, the invalidations themselves
// cost almost nothing, so the difference is the cost for the reads.
func (e *Env) readsBeside(setting string, log bool) {
	n := by(e, 10_000, 10_000, 500)
	stream := keyStream(n, 1<<16)
	p := twofold(e.t, e.options("twofold", 2*n, loadSmall), peers.Twofold{
		Log:  log,
		Tags: func(id int64, _ peers.Value) []string { return []string{tagOf(id), tagOf(-id)} },
	}, n)
	var cs []contender
	for _, s := range storms {
		c := reads(s.name, stream, byPeer(p))
		if s.scope != nil {
			c = c.beside(e.t, func(ctx context.Context) error { return rain(ctx, p, s.scope) })
		}
		cs = append(cs, c)
	}
	e.compare(&scenario{id: "G", setting: setting, warm: [3]int64{50, 20, 2}, span: [3]int64{300, 80, 5}, tables: []report.Comparison{{
		Title: "G: local hits of 10,000 keys with two tags, 1 goroutine, while invalidations come", Reference: "none", Unit: nsOp, More: []string{allocsOp},
		Note: "With two tiers each invalidation takes processor time in this process and in Redis, on the same two cores.",
	}}}, cs)
}

// rain invalidates ten scopes every millisecond until ctx ends.
func rain(ctx context.Context, p *peers.TwofoldPeer, scope func(int) invalidate.Scope) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		scopes := make([]invalidate.Scope, 10)
		for j := range scopes {
			scopes[j] = scope(10*i + j)
		}
		if err := p.Tiers.Invalidate(ctx, scopes...); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
}
