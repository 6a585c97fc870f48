package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
)

// options are the values of the command line.
type options struct {
	c          runConfig
	suite, out string
	parallel   int // runs of a suite at a time
}

// runConfig is the configuration of one run.
type runConfig struct {
	Fault    string
	DB       string // the kind of database that holds the source and the log; empty: both are in Redis
	DBCells  bool   // the database holds the cells as well
	Bound    time.Duration
	Strict   bool
	Soft     bool   // values expire instead of being invalidated
	Plain    bool   // writers are plain SQL clients; triggers invalidate
	Composed bool   // most reads are of values built from cached values
	Without  string // the safeguards to switch off, separated by commas, or empty
	Expect   string // what must be found: "violations", "alarms", "false alarms", or nothing
	Duration time.Duration
	Seed     uint64
	Keep     string // where to leave the histories, or empty

	Workers, Readers, Writers int
	Keys                      int // 0: as many as the fault needs
	ReadPause, WritePause     time.Duration
	SlowLoads                 float64
	Audit                     float64 // the share of hits that are audited
}

// defaults returns the defaults of the flags and of the suites.
func defaults() runConfig {
	return runConfig{
		Fault: "none", Bound: time.Second, Duration: 20 * time.Second, Seed: 1,
		Workers: 3, Readers: 6, Writers: 1,
		ReadPause: 3 * time.Millisecond, WritePause: 150 * time.Millisecond, SlowLoads: 0.05, Audit: 1,
	}
}

func parse(args []string) (*options, error) {
	o := &options{c: defaults()}
	c := &o.c
	fs := flag.NewFlagSet("stalecheck", flag.ContinueOnError)
	fs.StringVar(&o.suite, "suite", "", "several runs: ci (a minute), all, or db (databases alone)")
	fs.StringVar(&o.out, "out", "", "write the table to this file, too")
	fs.IntVar(&o.parallel, "parallel", 1, "runs of a suite at a time, at most one for each core; 1 disturbs no run")
	fs.StringVar(&c.Fault, "fault", c.Fault, "what breaks: "+strings.Join(rig.Faults(), ", "))
	fs.StringVar(&c.DB, "db", "", "the source and the log are in a database: sqlite, postgres or mariadb")
	fs.BoolVar(&c.DBCells, "db-cells", false, "the cells are in it as well")
	fs.DurationVar(&c.Bound, "bound", c.Bound, "the bound of the log")
	fs.BoolVar(&c.Strict, "strict", c.Strict, "every invalidation is Strict, and the bound 0")
	fs.BoolVar(&c.Soft, "soft", c.Soft, "nothing is invalidated, it expires; what is served as stale is not judged")
	fs.BoolVar(&c.Plain, "plain", c.Plain, "writers are plain SQL clients, and triggers of the source invalidate")
	fs.BoolVar(&c.Composed, "composed", c.Composed, "read values that loaders built from cached values, too")
	fs.StringVar(&c.Without, "without", "", "do without safeguards, with commas between them: "+strings.Join(guards, ", "))
	fs.StringVar(&c.Expect, "expect", "", "succeed only when there are some: "+strings.Join(findings[1:], ", "))
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
	fs.Float64Var(&c.Audit, "audit", c.Audit, "the share of hits that are audited")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", fs.Arg(0))
	}
	if o.suite != "" && !controls {
		return nil, errNoControls
	}
	if o.parallel < 1 || o.parallel > runtime.NumCPU() {
		return nil, fmt.Errorf("-parallel is %d: want 1 to %d, the number of cores", o.parallel, runtime.NumCPU())
	}
	return o, c.validate()
}

// Controls that need no build tag, because the worker implements them.
const (
	noLog      = "log"         // there is no log at all
	noOutbox   = "outbox"      // invalidations follow COMMIT and are not part of the transaction
	cellsFirst = "cells-first" // cells are removed before their rows are numbered
	noCalls    = "calls"       // one write in ten is not invalidated
	noTriggers = "triggers"    // the source of plain SQL clients has no triggers
)

// findings are the values of -expect.
var findings = []string{"", violations, alarms, falseAlarms}

// What a run can find.
const (
	violations  = "violations"
	alarms      = "alarms" // of audits
	falseAlarms = "false alarms"
)

// guards are the values of -without: the safeguards of package safeguard, and the controls of the
// worker.
var guards = []string{"lease", "run-id", "replid", "memory", "ids", "place", "content", "ahead", "epochs", "frames", "cas", "soft", "parts", "keys", "audit", noCalls, noLog, noOutbox, cellsFirst, noTriggers}

// removed returns the safeguards to switch off.
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
	case rig.Rare(c.Fault), c.DB != "":
		return 400
	}
	return 24
}

var errNoControls = errors.New("this build cannot switch off safeguards: build it with -tags twofold_controls")

func (c *runConfig) validate() error {
	for _, g := range c.removed() {
		if !slices.Contains(guards, g) {
			return fmt.Errorf("no safeguard %q: want some of %s", g, strings.Join(guards, ", "))
		}
		if !slices.Contains([]string{noCalls, noLog, noOutbox, cellsFirst, noTriggers}, g) && !controls {
			return errNoControls
		}
	}
	least := rig.MinBound(c.Fault)
	switch {
	case !slices.Contains(findings, c.Expect):
		return fmt.Errorf("cannot expect %q: want nothing or one of %s", c.Expect, strings.Join(findings[1:], ", "))
	case c.Audit < 0 || c.Audit > 1:
		return fmt.Errorf("-audit is %v: want a share of 0 to 1", c.Audit)
	case c.DB != "" && slices.Contains(c.removed(), noCalls):
		return errors.New("calls is for a log in Redis; with -db use outbox")
	case !slices.Contains(rig.Faults(), c.Fault):
		return fmt.Errorf("no fault %q: want one of %s", c.Fault, strings.Join(rig.Faults(), ", "))
	case c.DB != "" && c.DB != worker.SQLite && c.DB != worker.Postgres && c.DB != worker.MariaDB:
		return fmt.Errorf("no database %q: want sqlite, postgres or mariadb", c.DB)
	case c.DB == worker.MariaDB && c.DBCells:
		return errors.New("-db-cells needs sqlite or postgres")
	case !rig.Fits(c.Fault, c.DB):
		return fmt.Errorf("the fault %s does not apply to a log in %s", c.Fault, cmp.Or(c.DB, "redis"))
	case c.DB != "" && c.Soft:
		return errors.New("a transaction cannot expire: -soft does not go with -db")
	case c.DB == "" && (c.DBCells || slices.Contains(c.removed(), noOutbox) || slices.Contains(c.removed(), cellsFirst)):
		return errors.New("-db-cells, outbox and cells-first are for -db")
	case c.Plain && c.DB == "" || slices.Contains(c.removed(), noTriggers) && !c.Plain:
		return errors.New("-plain is for -db, and triggers are for -plain")
	case c.Soft && c.Strict:
		return errors.New("an expiry cannot be strict: -soft does not go with -strict")
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
