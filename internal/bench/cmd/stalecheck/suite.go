package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// runSuite does the runs in order, at most o.parallel at a time. It continues after a failure, so
// that the table is complete, and fails at the end.
func (o *options) runSuite(ctx context.Context, cases []runConfig) error {
	head := report.Heading(ctx, ", "+report.Said(ctx, "psql", "--version"), nil) // before the runs: the sources may change meanwhile
	results := make([]*result, len(cases))
	var bad atomic.Int64
	var next atomic.Int64
	var wg sync.WaitGroup
	for range o.parallel {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(cases) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				c := cases[i]
				c.Seed = o.c.Seed + uint64(i)
				fmt.Fprintf(os.Stderr, "%2d/%d %s\n", i+1, len(cases), c.name())
				began := time.Now()
				var err error
				if results[i], err = c.attempt(ctx); err != nil {
					bad.Add(1)
				}
				fmt.Fprintf(os.Stderr, "%2d/%d took %.0f s\n", i+1, len(cases), time.Since(began).Seconds())
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	done := slices.DeleteFunc(results, func(r *result) bool { return r == nil })
	if err := o.write(head + table(done)); err != nil {
		return err
	}
	if n := bad.Load(); n > 0 {
		return fmt.Errorf("%w: %d of %d runs", setup.ErrFound, n, len(cases))
	}
	return nil
}

// attempt does one run of a suite, and reports what is wrong with it. It tries once more if the run
// itself failed: a busy machine may fail to start a server in time. Without a result the run has
// failed twice.
func (c *runConfig) attempt(ctx context.Context) (r *result, err error) {
	var report bytes.Buffer
	defer func() { _, _ = report.WriteTo(os.Stderr) }() // in one piece, because runs may overlap
	for range 2 {
		if r, err = c.run(ctx); err == nil || ctx.Err() != nil {
			break
		}
		fmt.Fprintf(&report, "%s, the run failed: %v\n", c.name(), err)
	}
	if err != nil {
		return nil, err
	}
	if err = r.judge(); err != nil {
		fmt.Fprintf(&report, "%s: %v\n", c.name(), err)
		r.explain(&report)
	}
	r.events = nil // a long suite would hold them all
	return r, err
}

// name returns what distinguishes a run.
func (c *runConfig) name() string {
	s := c.Fault
	if c.DB != "" {
		s = c.DB + ": " + s
	}
	for _, part := range []struct {
		is   bool
		text string
	}{
		{c.DBCells, "cells there too"}, {c.SlowLoads == 0, "no slow loads"}, {c.Keys == 2000, "more keys"},
		{c.Workers != defaults().Workers, fmt.Sprintf("%d processes", c.Workers)},
		{c.Soft, "soft"}, {c.Plain, "plain SQL"}, {c.Composed, "composed"}, {c.Strict, "strict"},
		{c.Without != "", "without " + c.Without},
	} {
		if part.is {
			s += ", " + part.text
		}
	}
	return s
}
