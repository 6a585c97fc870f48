// Stalecheck checks the promise of the cache from outside: in several
// processes that share one Redis, under faults, no read may return a value
// longer after its invalidation than the bound says.
//
//	stalecheck [flags]                one run
//	stalecheck -suite ci|all|db [-out f] several runs, as a Markdown table
//	stalecheck -suite cost            what an invalidation costs
//
// It starts redis-server from the PATH and itself once more for each worker.
// Every worker reads and invalidates keys whose values are versions from a
// source that is never out of order, and some loads sleep with an old version
// in their hands. With -composed, loaders build further values from cached values.
// Package history says how a run is judged. The exit status is 1 when a read was
// staler than promised, and 2 when the run itself failed.
//
// Many faults make the log lose its end: writes that were acknowledged. A worker that
// knows what was lost tells the log when it comes back. So in turn a worker that was
// cut off before, or a new process, comes first and is alone for longer than the bound.
// These faults use more keys, because a key that is written again hides a stale value.
//
//	old-dump       Redis restarts with a dump of a while ago
//	copied-dump    another server starts with such a dump
//	failover       a replica is promoted that lagged
//	replicaof      the server follows a replica that lags, and is the primary again
//	reload         DEBUG RELOAD NOSAVE
//	restore        RESTORE of the log's three keys; the cells stay
//	copy           COPY of the three keys, and back: leaves no trace in the server
//	sentinel-loss  the Sentinels fail over to a replica that lags, and back
//	takeover       the same in a Cluster, by CLUSTER FAILOVER TAKEOVER
//	restart        the log's keys and all processes are lost; the cells stay
//	cluster-restart  the same in a Cluster
//
// After copy the library promises nothing before a process comes that knows what was
// lost. There that process comes within the bound, which must be 4 seconds or more, and
// a process may miss its own invalidations for so long, too.
//
// With -db the source and the log are in one database, SQLite or PostgreSQL, and every write
// is a transaction that invalidates (package sqllog). Writers die after COMMIT there and
// tell nobody, and the source may be put back to an older copy. So an observer reads the
// source all the time, and reads are judged by what it saw. The keys are many and written
// rarely. These are the faults of a log in a database:
//
//	committed      a worker is killed when COMMIT was answered
//	steps          a worker is killed at each step of a numbering and of a transaction
//	freeze         a worker is stopped at such a step
//	unanswered     the connection is cut between COMMIT and its answer
//	db-kill        PostgreSQL is killed, or stopped at once, and started again
//	db-copy        the database is put back to an old copy, in place
//	db-standby     a standby is promoted that lagged
//	db-trim        workers are killed, and the log has no record of keys for those that follow
//
// A checker that never fires proves nothing. Built with
//
//	go build -tags twofold_controls ./cmd/stalecheck
//
// it can do without some safeguards of the protocol (-without replid,memory), and with
// -expect violations it fails when that goes unnoticed. Package safeguard lists them.
// The suites need that build. Without any tag, -without log runs the cache with no log
// at all; with -db, -without outbox invalidates after COMMIT, and -without cells-first
// removes cells after their rows have numbers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/proc"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
)

// errFound says that the library, or the checker, does not do as it should.
// What it was is already printed.
var errFound = errors.New("not as expected")

func main() {
	if os.Getenv(worker.Env) != "" {
		exit(worker.Main())
	}
	redis.SetLogger(silent{}) // servers that are not up yet, or were killed, are no news
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	exit(err)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func exit(err error) {
	switch {
	case err == nil:
		os.Exit(0)
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "stalecheck:", err)
	if errors.Is(err, errFound) {
		os.Exit(1)
	}
	os.Exit(2)
}

func run(ctx context.Context) error {
	o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	if !proc.Supported {
		return proc.ErrSystem
	}
	switch o.suite {
	case "":
		return o.single(ctx)
	case "ci":
		return o.runSuite(ctx, ciSuite())
	case "all":
		return o.runSuite(ctx, fullSuite(o.c.Duration))
	case "db":
		return o.runSuite(ctx, databases(o.c.Duration))
	case "cost":
		return o.cost(ctx)
	}
	return fmt.Errorf("no suite %q: want ci, all, db or cost", o.suite)
}

// single does one run and says what came of it.
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

// write prints text, to the file of -out as well.
func (o *options) write(text string) error {
	fmt.Print(text)
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, []byte(text), 0o600)
}
