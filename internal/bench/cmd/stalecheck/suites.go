package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
)

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
