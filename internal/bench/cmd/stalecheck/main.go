// Stalecheck checks the promise of the cache from outside: in several
// processes that share one Redis, under faults, no read may return a value
// longer after its invalidation than the bound says.
//
//	stalecheck [flags]                one run
//	stalecheck -suite ci|all [-out f] several runs, as a Markdown table
//	stalecheck -suite cost            what an invalidation costs
//
// It starts redis-server from the PATH and itself once more for each worker.
// Every worker reads and invalidates keys whose values are versions from a
// source that is never out of order, and some loads sleep with an old version
// in their hands. Package history says how a run is judged; the exit status is
// 1 when a read was staler than promised, and 2 when the run itself failed.
//
// A checker that never fires proves nothing. Built with
//
//	go build -tags twofold_controls ./cmd/stalecheck
//
// it can do without one safeguard of the protocol (-without lease, run-id,
// frames, or cas+frames), and with -expect violations it fails when that goes
// unnoticed. The suites need that build. Without any tag, -without log runs
// the cache with no log at all.
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
	case "cost":
		return o.cost(ctx)
	}
	return fmt.Errorf("no suite %q: want ci, all or cost", o.suite)
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
