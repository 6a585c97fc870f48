// Stalecheck checks the guarantee of the cache from outside. Several processes share one Redis,
// under faults. No read may return a value for longer after its invalidation than the bound allows.
// The flag -h lists the faults.
//
//	stalecheck [flags]                one run
//	stalecheck -suite ci|all|db [-out f] several runs, as a Markdown table
//
// It starts redis-server from the PATH, and itself once more for each worker. Every worker reads
// and invalidates keys. Their values are versions from a source that never goes backwards. Some
// loads sleep while they hold an old version. With -composed, loaders build further values from
// cached values. Package history explains how a run is checked. The exit status is 1 if a read was
// staler than the guarantee allows, and 2 if the run itself failed.
//
// Package rig has the faults. Many of them make the log lose its end, which is a number of acknowledged
// writes; see losing there, and copyKeys for what is not guaranteed. With -db the source and the log are
// in one database, and every write is a transaction that invalidates. Writers may die after COMMIT, and
// the source may go back, so an observer reads it all the time; see history.Course.
//
// A checker that never fires proves nothing. Built with
//
//	go build -tags twofold_controls ./cmd/stalecheck
//
// it can switch off some safeguards of the protocol (-without replid,memory). With -expect
// violations it fails if no violation is found. Package safeguard lists the safeguards. The suites
// need that build. Without any tag, -without log runs the cache without a log, and -without calls
// does not invalidate one write in ten. With -db, -without outbox invalidates after COMMIT, and
// -without cells-first removes cells after their rows have numbers.
//
// Each worker audits its hits, and alarms are checked, too; see package history. Two controls find alarms:
// -without audit must find false ones, and -without calls true ones.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

func main() { setup.Main("stalecheck", worker.Env, worker.Main, run) }

func run(ctx context.Context) error {
	o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	if o.suite == "" {
		return o.single(ctx)
	}
	runs, err := suite(o.suite, o.c.Duration)
	if err != nil {
		return err
	}
	return o.runSuite(ctx, runs)
}

// single does one run and reports its result.
func (o *options) single(ctx context.Context) error {
	r, err := o.c.run(ctx)
	if err != nil {
		return err
	}
	if err := o.write(table([]*result{r})); err != nil {
		return err
	}
	r.explain(os.Stdout)
	return r.judge()
}

// write prints text, and also writes it to the file of -out.
func (o *options) write(text string) error {
	fmt.Print(text)
	if o.out == "" {
		return nil
	}
	return setup.Deliver(o.out, text)
}
