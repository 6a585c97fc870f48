package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// runSuite does the runs in order, at most o.parallel at a time. It continues after a failure, so
// that the table is complete, and fails at the end.
func (o *options) runSuite(ctx context.Context, cases []runConfig) error {
	head := report.Heading(ctx, ", "+report.Said(ctx, "psql", "--version"), nil) // before the runs: the sources may change meanwhile
	results := make([]*result, len(cases))
	var bad atomic.Int64
	var all errgroup.Group
	all.SetLimit(o.parallel)
	for i, c := range cases {
		all.Go(func() (err error) {
			if err = ctx.Err(); err != nil {
				return err
			}
			c.Seed = o.c.Seed + uint64(i)
			fmt.Fprintf(os.Stderr, "%2d/%d %s\n", i+1, len(cases), c.name())
			began := time.Now()
			if results[i], err = c.attempt(ctx); err != nil {
				bad.Add(1)
			}
			fmt.Fprintf(os.Stderr, "%2d/%d took %.0f s\n", i+1, len(cases), time.Since(began).Seconds())
			return ctx.Err()
		})
	}
	if err := all.Wait(); err != nil { // that of ctx
		return err
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
// itself failed, since a busy machine may fail to start a server in time, and for twice as long if it
// showed too little. Without a result the last run has failed.
func (c *runConfig) attempt(ctx context.Context) (r *result, err error) {
	var report bytes.Buffer
	defer func() { _, _ = report.WriteTo(os.Stderr) }() // in one piece, because runs may overlap
	for range 2 {
		if r, err = c.run(ctx); err == nil {
			if err = r.judge(); !errors.Is(err, errThin) {
				break
			}
			fmt.Fprintf(&report, "%s, %v: %v\n", c.name(), c.Duration, err)
			c.Duration *= 2
			continue
		}
		if r = nil; ctx.Err() != nil {
			break
		}
		fmt.Fprintf(&report, "%s, the run failed: %v\n", c.name(), err)
	}
	if r == nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(&report, "%s: %v\n", c.name(), err)
		r.explain(&report)
	}
	r.events = nil // a long suite would hold them all
	return r, err
}

// name returns what distinguishes a run.
func (c *runConfig) name() string {
	name := []string{c.Fault}
	if c.DB != "" {
		name[0] = c.DB + ": " + c.Fault
	}
	for _, part := range []struct {
		is   bool
		text string
	}{
		{c.DBCells, "cells there too"}, {c.SlowLoads == 0, "no slow loads"}, {c.Keys == 2000, "more keys"},
		{c.Workers != defaults().Workers, fmt.Sprintf("%d processes", c.Workers)},
		{c.Soft, "soft"}, {c.Plain && c.DB != "", "plain SQL"}, {c.Plain && c.DB == "", "redis-cli"}, {c.Composed, "composed"}, {c.Settle, "settle"}, {c.Tickets, "tickets"},
		{c.Without != "", "without " + c.Without},
	} {
		if part.is {
			name = append(name, part.text)
		}
	}
	return strings.Join(name, ", ")
}

const quarter = 250 * time.Millisecond

// The suites. A line has the faults and the flags of runs. "both" before the faults means with the
// line's bound and with 250 ms, and "brief" means three fifths of the duration, which is long enough
// for three losses. A line that begins with "base" has the flags of the lines below it.
//
//go:embed suites.txt
var suites string

// suite returns the runs of a suite. They have d unless a line has another duration.
func suite(name string, d time.Duration) (all []runConfig, err error) {
	_, text, ok := strings.Cut(suites, "suite "+name+"\n")
	if !ok {
		return nil, fmt.Errorf("no suite %q: want ci, all or db", name)
	}
	text, _, _ = strings.Cut(text, "\nend\n")
	base := defaults()
	base.Duration = d
	c := base
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "base":
			c = base
			err = c.set(words[1:])
		case words[0] == "include":
			var more []runConfig
			more, err = suite(words[1], d)
			all = append(all, more...)
		default:
			all, err = c.runs(all, words)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	return all, nil
}

// set sets flags.
func (c *runConfig) set(flags []string) error {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.define(fs)
	return fs.Parse(flags)
}

// runs adds the runs of a line.
func (c runConfig) runs(all []runConfig, words []string) ([]runConfig, error) {
	both := words[0] == "both"
	if words[0] == "brief" {
		c.Duration = max(c.Duration*3/5, 4*time.Second)
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "both" || w == "brief" })
	if err := c.set(words[1:]); err != nil {
		return nil, err
	}
	for fault := range strings.SplitSeq(words[0], ",") {
		one, least := c, rig.MinBound(fault)
		one.Fault, one.Bound = fault, max(c.Bound, least)
		all = append(all, one)
		if both && least == 0 {
			one.Bound = quarter
			all = append(all, one)
		}
	}
	return all, nil
}
