package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// runSuite does the runs one after the other. It goes on after a failure, so
// that the table is whole, and fails at the end.
func (o *options) runSuite(ctx context.Context, cases []runConfig) error {
	head := heading(ctx) // as of now: the sources may change meanwhile
	var results []*result
	bad := 0
	for i, c := range cases {
		c.Seed = o.c.Seed + uint64(i)
		fmt.Fprintf(os.Stderr, "%2d/%d %s\n", i+1, len(cases), c.name())
		r, err := c.run(ctx)
		if err != nil && ctx.Err() == nil {
			// A machine with other work may fail to start a server in time.
			fmt.Fprintf(os.Stderr, "%s, once more after: %v\n", c.name(), err)
			r, err = c.run(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		if err := r.judge(); err != nil {
			bad++
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name(), err)
			r.explain(os.Stderr)
		}
		r.events = nil // a long suite would hold them all
		results = append(results, r)
	}
	if err := o.write(head + table(results)); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%w: %d of %d runs", errFound, bad, len(results))
	}
	return nil
}

// name says what is particular about a run.
func (c *runConfig) name() string {
	s := c.Fault
	if c.SlowLoads == 0 {
		s += ", no slow loads"
	}
	if c.Keys == many {
		s += ", more keys"
	}
	if c.Strict {
		s += ", strict"
	}
	if c.Without != "" {
		s += ", without " + c.Without
	}
	return s
}

// ciSuite takes about a minute. A bound of 250 ms and short runs make room for
// the controls, without which the rest means little.
func ciSuite() []runConfig {
	base := defaults()
	base.Bound = quarter
	base.Duration = 7 * time.Second
	var out []runConfig
	for _, fault := range []string{"none", "partition", "mix"} {
		c := base
		c.Fault = fault
		out = append(out, c)
	}
	strict := base
	strict.Fault, strict.Strict, strict.Writers = "partition", true, 3
	return append(append(out, strict), controlsOf(base, [][2]string{
		{"cas,frames", "none"}, {"run-id", "old-dump"}, {"lease", "partition"},
	})...)
}

// controlsOf returns runs that must violate the bound.
func controlsOf(base runConfig, pairs [][2]string) []runConfig {
	var out []runConfig
	for _, p := range pairs {
		c := base
		c.Without, c.Fault, c.Expect = p[0], p[1], "violations"
		out = append(out, c)
	}
	return out
}

// fullSuite is every fault at two bounds, then Strict, then the controls.
func fullSuite(d time.Duration) []runConfig {
	base := defaults()
	base.Duration = d
	var out []runConfig
	add := func(change func(*runConfig)) {
		c := base
		change(&c)
		out = append(out, c)
	}
	add(func(c *runConfig) { c.SlowLoads = 0 })
	for _, fault := range []string{
		"none", "pause", "crash", "partition", "stall", "kill", "redis-pause", "old-dump", "failover",
		"log-keys", "trim", "mix", "sentinel", "cluster", "cluster-loss",
	} {
		add(func(c *runConfig) { c.Fault = fault })
		add(func(c *runConfig) { c.Fault, c.Bound = fault, quarter })
	}
	for _, fault := range []string{"mix", "partition", "failover"} {
		add(func(c *runConfig) { c.Fault, c.Bound, c.Strict, c.Writers = fault, quarter, true, 3 })
	}
	for _, fault := range []string{"old-dump", "failover", "cluster-loss"} {
		add(func(c *runConfig) { *c = wide(*c); c.Fault, c.Bound = fault, quarter })
	}
	base.Bound = quarter // what a control loses is soon staler than that
	out = append(out, controlsOf(base, [][2]string{
		{"log", "none"}, {"lease", "partition"}, {"lease", "pause"}, {"run-id", "old-dump"}, {"run-id", "failover"}, {"cas,frames", "none"},
	})...)
	return append(out, controlsOf(wide(base), [][2]string{{"frames", "cluster-loss"}})...)
}

const quarter = 250 * time.Millisecond

// wide has so many keys that most are not in every process, and more is read
// from Redis.
func wide(c runConfig) runConfig {
	c.Keys, c.WritePause, c.SlowLoads = many, 40*time.Millisecond, 0.01
	return c
}

const many = 2000
