package main

import (
	"context"
	"fmt"
	"os"
)

// runSuite does the runs one after another. It continues after a failure, so that the table is
// complete, and fails at the end.
func (o *options) runSuite(ctx context.Context, cases []runConfig) error {
	head := heading(ctx) // before the runs: the sources may change meanwhile
	var results []*result
	bad := 0
	for i, c := range cases {
		c.Seed = o.c.Seed + uint64(i)
		fmt.Fprintf(os.Stderr, "%2d/%d %s\n", i+1, len(cases), c.name())
		r, err := c.run(ctx)
		if err != nil && ctx.Err() == nil {
			// A busy machine may fail to start a server in time.
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

// name returns what distinguishes a run.
func (c *runConfig) name() string {
	s := c.Fault
	if c.DB != "" {
		s = c.DB + ": " + s
	}
	if c.DBCells {
		s += ", cells there too"
	}
	if c.SlowLoads == 0 {
		s += ", no slow loads"
	}
	if c.Keys == many {
		s += ", more keys"
	}
	if c.Workers != defaults().Workers {
		s += fmt.Sprintf(", %d processes", c.Workers)
	}
	if c.Soft {
		s += ", soft"
	}
	if c.Composed {
		s += ", composed"
	}
	if c.Strict {
		s += ", strict"
	}
	if c.Without != "" {
		s += ", without " + c.Without
	}
	return s
}
