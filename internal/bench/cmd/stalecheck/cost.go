package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
)

// measurement is one kind of call and its durations.
type measurement struct {
	name  string
	times []int64
}

// cost measures what invalidations cost compared with a bare round trip, whether that depends on
// the number of covered keys, and what is lost when all connections end 50 times.
func (o *options) cost(ctx context.Context) error {
	head := heading(ctx)
	near, err := measureCost(ctx, 0, 21, []group{{1, 20}, {1_000, 5}, {100_000, 1}})
	if err != nil {
		return err
	}
	far, err := measureCost(ctx, network, 5, []group{{1, 20}})
	if err != nil {
		return err
	}
	c := o.c
	c.Fault, c.Without, c.Expect = "kill", "", ""
	r, err := c.run(ctx)
	if err != nil {
		return err
	}
	text := head + "Redis on the same machine:\n\n" + near +
		fmt.Sprintf("\nRedis %v away, which shows the number of round trips:\n\n", network) + far + lost(r)
	if err := o.write(text); err != nil {
		return err
	}
	if r.lag.Unseen > 0 {
		return fmt.Errorf("%w: %d messages are lost", errFound, r.lag.Unseen)
	}
	return r.judge()
}

// network is the duration of a round trip in a data centre, without the work.
const network = 500 * time.Microsecond

func measureCost(ctx context.Context, away time.Duration, rounds int, groups []group) (string, error) {
	dir, err := os.MkdirTemp("", "stalecheck")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b, err := newCostBench(ctx, dir, away, groups)
	if err != nil {
		return "", err
	}
	defer b.close()
	for i := range rounds {
		fmt.Fprintf(os.Stderr, "%2d/%d\n", i+1, rounds)
		if err := b.round(ctx); err != nil {
			return "", err
		}
	}
	return b.table(), nil
}

// round fills everything and then invalidates it in a random order. Before each call it makes a
// round trip that shows the current speed of the machine.
func (b *costBench) round(ctx context.Context) error {
	if err := b.fill(ctx); err != nil {
		return err
	}
	var calls []call
	for _, g := range b.groups {
		for i := range g.count {
			calls = append(calls, b.prefix(g.size, i))
		}
	}
	for i := range alones {
		calls = append(calls, b.key(i), b.tag(i))
	}
	rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	for _, c := range calls {
		if err := b.measure("PING", func() error { return b.rdb.Ping(ctx).Err() }); err != nil {
			return err
		}
		if err := b.cached(ctx, c.sample, true); err != nil {
			return fmt.Errorf("before %s: %w", c.name, err)
		}
		if err := b.measure(c.name, func() error { return b.tiers.Invalidate(ctx, c.scope) }); err != nil {
			return err
		}
		if err := b.cached(ctx, c.sample, false); err != nil {
			return fmt.Errorf("after %s: %w", c.name, err)
		}
	}
	return nil
}

func (b *costBench) measure(name string, f func() error) error {
	start := time.Now()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	i := slices.IndexFunc(b.all, func(m measurement) bool { return m.name == name })
	if i < 0 {
		i = len(b.all)
		b.all = append(b.all, measurement{name: name})
	}
	b.all[i].times = append(b.all[i].times, int64(time.Since(start)))
	return nil
}

func (b *costBench) table() string {
	var out strings.Builder
	slices.SortFunc(b.all, func(x, y measurement) int { return strings.Compare(x.name, y.name) })
	var ping int64
	for i := range b.all {
		slices.Sort(b.all[i].times)
		if b.all[i].name == "PING" {
			ping = history.Quantile(b.all[i].times, 0.5)
		}
	}
	out.WriteString("| call | n | p50 ms | p99 ms | × PING |\n| --- | --- | --- | --- | --- |\n")
	for _, m := range b.all {
		half := history.Quantile(m.times, 0.5)
		fmt.Fprintf(&out, "| %s | %d | %.3f | %.3f | %.2f |\n", m.name, len(m.times),
			float64(half)/1e6, float64(history.Quantile(m.times, 0.99))/1e6, float64(half)/float64(ping))
	}
	return out.String()
}

// lost describes the result of a run under kills.
func lost(r *result) string {
	return fmt.Sprintf("\n%d times all connections were closed, under %d invalidations and %d reads: "+
		"%d keys were still stale in a process that read them more than %v later; gaps/bumps/lapses %s (every process begins with a bump).\n",
		len(r.incidents), r.verdict.Acks, r.verdict.Reads, r.lag.Unseen, r.c.Bound, r.health())
}
