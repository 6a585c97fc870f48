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
	rig.Config

	Expect string // what must be found: one of findings
}

// defaults returns the defaults of the flags and of the suites.
func defaults() (c runConfig) {
	c.Fault, c.Workers, c.Duration = "none", 3, 20*time.Second
	c.Run = worker.Run{
		Bound: time.Second, Seed: 1, Writers: 1, WritePause: 150 * time.Millisecond, SlowLoads: 0.05,
	}
	return c
}

// define defines the flags of a run. Their defaults are the present values.
func (c *runConfig) define(fs *flag.FlagSet) {
	fs.StringVar(&c.Fault, "fault", c.Fault, "what breaks"+rig.About())
	fs.StringVar(&c.DB, "db", c.DB, "the source and the log are in a database: sqlite, postgres or mariadb")
	fs.BoolVar(&c.DBCells, "db-cells", c.DBCells, "the cells are in it as well")
	fs.DurationVar(&c.Bound, "bound", c.Bound, "the bound of the log")
	fs.BoolVar(&c.Settle, "settle", c.Settle, "Settle follows every invalidation, and the bound is 0")
	fs.BoolVar(&c.Tickets, "tickets", c.Tickets, "reads have tickets of all processes, and the bound is 0")
	fs.BoolVar(&c.Soft, "soft", c.Soft, "nothing is invalidated, it expires; what is served as stale is not judged")
	fs.BoolVar(&c.Plain, "plain", c.Plain, "writers are plain SQL clients, and triggers of the source invalidate; with a log in Redis, they are processes of redis-cli that call its function")
	fs.BoolVar(&c.Composed, "composed", c.Composed, "read values that loaders built from cached values, too")
	fs.StringVar(&c.Without, "without", c.Without, "do without safeguards, with commas between them: "+strings.Join(guards, ", "))
	fs.StringVar(&c.Expect, "expect", c.Expect, "succeed only when there are some: "+strings.Join(findings[1:], ", "))
	fs.DurationVar(&c.Duration, "duration", c.Duration, "of a run")
	fs.Uint64Var(&c.Seed, "seed", c.Seed, "of everything that is random")
	fs.IntVar(&c.Workers, "workers", c.Workers, "processes")
	fs.IntVar(&c.Writers, "writers", c.Writers, "writers of a process")
	fs.IntVar(&c.Keys, "keys", c.Keys, "keys; 0: 24, or 400 under a fault that shows on rarely written keys")
	fs.DurationVar(&c.WritePause, "write-pause", c.WritePause, "the mean between two calls of a writer")
	fs.Float64Var(&c.SlowLoads, "slow-loads", c.SlowLoads, "the share of loads that sleep after reading")
}

func parse(args []string) (*options, error) {
	o := &options{c: defaults()}
	fs := flag.NewFlagSet("stalecheck", flag.ContinueOnError)
	fs.StringVar(&o.suite, "suite", "", "several runs: ci (a minute), all, or db (databases alone)")
	fs.StringVar(&o.out, "out", "", "write the table to this file, too")
	fs.IntVar(&o.parallel, "parallel", 1, "runs of a suite at a time, at most one for each core; 1 disturbs no run")
	o.c.define(fs)
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
	return o, o.c.validate()
}

// What a run can find: the values of -expect.
const (
	violations  = "violations"
	alarms      = "alarms" // of audits
	falseAlarms = "false-alarms"
)

var findings = []string{"", violations, alarms, falseAlarms}

// The values of -without: the controls of the worker, and all of them with the safeguards of package
// safeguard.
var (
	own    = []string{worker.NoCalls, worker.NoLog, worker.NoOutbox, worker.CellsFirst, worker.NoTriggers, worker.NoTickets, worker.NoCell}
	guards = append([]string{"lease", "run-id", "replid", "memory", "ids", "place", "content", "ahead", "epochs", "frames", "cas", "soft", "parts", "keys", "audit"}, own...)
)

var errNoControls = errors.New("this build cannot switch off safeguards: build it with -tags twofold_controls")

func (c *runConfig) validate() error {
	for _, g := range c.Removed() {
		if !slices.Contains(guards, g) {
			return fmt.Errorf("no safeguard %q: want some of %s", g, strings.Join(guards, ", "))
		}
		if !slices.Contains(own, g) && !controls {
			return errNoControls
		}
	}
	least := max(rig.MinBound(c.Fault), time.Millisecond)
	switch {
	case !slices.Contains(findings, c.Expect):
		return fmt.Errorf("cannot expect %q: want nothing or one of %s", c.Expect, strings.Join(findings[1:], ", "))
	case c.DB != "" && c.Lacks(worker.NoCalls):
		return errors.New("calls is for a log in Redis; with -db use outbox")
	case !slices.Contains(rig.Faults(), c.Fault):
		return fmt.Errorf("no fault %q: want one of %s", c.Fault, strings.Join(rig.Faults(), ", "))
	case !slices.Contains([]string{"", worker.SQLite, worker.Postgres, worker.MariaDB}, c.DB):
		return fmt.Errorf("no database %q: want sqlite, postgres or mariadb", c.DB)
	case c.DB == worker.MariaDB && c.DBCells:
		return errors.New("-db-cells needs sqlite or postgres")
	case !rig.Fits(c.Fault, c.DB):
		return fmt.Errorf("the fault %s does not apply to a log in %s", c.Fault, cmp.Or(c.DB, "redis"))
	case c.DB != "" && c.Soft:
		return errors.New("a transaction cannot expire: -soft does not go with -db")
	case c.DB == "" && (c.DBCells || c.Lacks(worker.NoOutbox) || c.Lacks(worker.CellsFirst)):
		return errors.New("-db-cells, outbox and cells-first are for -db")
	case c.Lacks(worker.NoTriggers) && (!c.Plain || c.DB == ""):
		return errors.New("triggers are for -plain with -db")
	case c.Lacks(worker.NoCell) && (!c.Plain || c.DB != ""):
		return errors.New("cell is for -plain without -db")
	case c.Plain && c.DB == "" && !rig.OneServer(c.Fault):
		return errors.New("-plain needs a log in a database, or on one server of Redis")
	case c.Soft && (c.Settle || c.Tickets), c.Settle && c.Tickets:
		return errors.New("at most one of -soft, -settle and -tickets")
	case c.Lacks(worker.NoTickets) && !c.Tickets:
		return errors.New("the control tickets is for -tickets")
	case c.Tickets && c.Plain:
		return errors.New("a client that is no process of the cache has no ticket: -tickets does not go with -plain")
	case c.Bound < least:
		return fmt.Errorf("the fault %s needs a bound of %v or more", c.Fault, least)
	case c.Workers < 1 || c.Workers > 99 || c.Writers < 0:
		return errors.New("want 1 to 99 workers, and no negative number of writers")
	case c.Keys < 0 || c.Keys > 1<<16:
		return errors.New("want 0 to 65536 keys")
	case c.Duration < time.Second || c.WritePause < 0:
		return errors.New("want a duration of a second or more, and no negative pause")
	}
	return nil
}
