package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
)

// options are what the command line says.
type options struct {
	c          runConfig
	suite, out string
}

// runConfig is one run.
type runConfig struct {
	Fault    string
	Bound    time.Duration
	Strict   bool
	Soft     bool   // nothing is invalidated: it expires
	Composed bool   // most reads are of values that were built from cached values
	Without  string // the safeguards to do without, with commas between them, or empty
	Expect   string // "violations", or empty
	Duration time.Duration
	Seed     uint64
	Keep     string // where to leave the histories, or empty

	Workers, Readers, Writers int
	Keys                      int // 0: as the fault needs
	ReadPause, WritePause     time.Duration
	SlowLoads                 float64
}

// defaults are those of the flags and of the suites.
func defaults() runConfig {
	return runConfig{
		Fault: "none", Bound: time.Second, Duration: 20 * time.Second, Seed: 1,
		Workers: 3, Readers: 6, Writers: 1,
		ReadPause: 3 * time.Millisecond, WritePause: 150 * time.Millisecond, SlowLoads: 0.05,
	}
}

func parse(args []string) (*options, error) {
	o := &options{c: defaults()}
	c := &o.c
	fs := flag.NewFlagSet("stalecheck", flag.ContinueOnError)
	fs.StringVar(&o.suite, "suite", "", "several runs: ci (a minute), all, or cost (measures)")
	fs.StringVar(&o.out, "out", "", "write the table to this file, too")
	fs.StringVar(&c.Fault, "fault", c.Fault, "what breaks: "+strings.Join(rig.Faults(), ", "))
	fs.DurationVar(&c.Bound, "bound", c.Bound, "the bound of the log")
	fs.BoolVar(&c.Strict, "strict", c.Strict, "every invalidation is Strict, and the bound 0")
	fs.BoolVar(&c.Soft, "soft", c.Soft, "nothing is invalidated, it expires; what is served as stale is not judged")
	fs.BoolVar(&c.Composed, "composed", c.Composed, "read values that loaders built from cached values, too")
	fs.StringVar(&c.Without, "without", "", "do without safeguards, with commas between them: "+strings.Join(guards, ", "))
	fs.StringVar(&c.Expect, "expect", "", `"violations": succeed only when there are some`)
	fs.DurationVar(&c.Duration, "duration", c.Duration, "of a run")
	fs.Uint64Var(&c.Seed, "seed", c.Seed, "of everything that is random")
	fs.StringVar(&c.Keep, "keep", "", "leave the histories in this directory")
	fs.IntVar(&c.Workers, "workers", c.Workers, "processes")
	fs.IntVar(&c.Readers, "readers", c.Readers, "readers of a process")
	fs.IntVar(&c.Writers, "writers", c.Writers, "writers of a process")
	fs.IntVar(&c.Keys, "keys", c.Keys, "keys; 0: 24, or 400 under a fault that shows on rarely written keys")
	fs.DurationVar(&c.ReadPause, "read-pause", c.ReadPause, "the mean between two calls of a reader")
	fs.DurationVar(&c.WritePause, "write-pause", c.WritePause, "the mean between two calls of a writer")
	fs.Float64Var(&c.SlowLoads, "slow-loads", c.SlowLoads, "the share of loads that sleep after reading")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag", fs.Arg(0))
	}
	if o.suite != "" && o.suite != "cost" && !controls {
		return nil, errNoControls
	}
	return o, c.validate()
}

// noLog is the control that does without the log, in every build.
const noLog = "log"

// guards are what -without takes: those of package safeguard, and noLog.
var guards = []string{"lease", "run-id", "replid", "memory", "ids", "epochs", "frames", "cas", "soft", "parts", noLog}

// removed returns the safeguards to do without.
func (c *runConfig) removed() []string {
	if c.Without == "" {
		return nil
	}
	return strings.Split(c.Without, ",")
}

// keys returns the number of keys of the run.
func (c *runConfig) keys() int {
	switch {
	case c.Keys > 0:
		return c.Keys
	case rig.Rare(c.Fault):
		return 400
	}
	return 24
}

var errNoControls = errors.New("this build keeps all of its safeguards: build it with -tags twofold_controls")

func (c *runConfig) validate() error {
	for _, g := range c.removed() {
		if !slices.Contains(guards, g) {
			return fmt.Errorf("no safeguard %q: want some of %s", g, strings.Join(guards, ", "))
		}
		if g != noLog && !controls {
			return errNoControls
		}
	}
	least := rig.MinBound(c.Fault)
	switch {
	case c.Expect != "" && c.Expect != "violations":
		return fmt.Errorf(`cannot expect %q: want "violations" or nothing`, c.Expect)
	case !slices.Contains(rig.Faults(), c.Fault):
		return fmt.Errorf("no fault %q: want one of %s", c.Fault, strings.Join(rig.Faults(), ", "))
	case c.Soft && c.Strict:
		return errors.New("what expires is never strict")
	case c.Bound < max(least, time.Millisecond):
		return fmt.Errorf("the fault %s needs a bound of %v or more", c.Fault, max(least, time.Millisecond))
	case c.Workers < 1 || c.Workers > 99 || c.Readers < 0 || c.Writers < 0:
		return errors.New("want 1 to 99 workers, and no negative readers or writers")
	case c.Keys < 0 || c.Keys > 1<<16:
		return errors.New("want 0 to 65536 keys")
	case c.Duration < time.Second || c.ReadPause < 0 || c.WritePause < 0:
		return errors.New("want a duration of a second or more, and no negative pauses")
	}
	return nil
}
