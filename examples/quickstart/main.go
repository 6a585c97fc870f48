// Command quickstart indexes the Go standard library of the machine it runs on
// through two sets of tiers that share one remote tier and one log of
// invalidations, as two processes would, and tells what each read cost, where its
// value came from, and how long an invalidation in one process took to reach the
// other. It ends with status 1 if anything it promises did not happen.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -redis redis://localhost:6379
//
// With -file it indexes once, into a SQLite file, and the second start is warm:
//
//	go run ./examples/quickstart -file cache.db
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/twofold-go/twofold/invalidate/redislog"
)

// maxBound keeps the story short: two of its steps take as long as the bound.
const maxBound = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are what the flags say.
type options struct {
	redis string
	file  string
	root  string
	bound time.Duration
}

// run is the program. It returns its exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var o options
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.redis, "redis", "", "URL of a Redis to share, such as redis://localhost:6379 (default: in memory)")
	flags.StringVar(&o.file, "file", "", "SQLite file to keep the index in, made if there is none: tells only where the packages come from")
	flags.StringVar(&o.root, "root", "", "Go installation to index (default: this machine's)")
	flags.DurationVar(&o.bound, "bound", 500*time.Millisecond, "how long a process may trust its copies without word from the log")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(errs, "quickstart: argument %q is not a flag\n", flags.Arg(0))
		return 2
	}
	if o.file != "" && o.redis != "" {
		fmt.Fprintln(errs, "quickstart: -file and -redis exclude each other")
		return 2
	}
	if err := start(ctx, o, out); err != nil {
		fmt.Fprintln(errs, "quickstart:", err)
		return 1
	}
	return 0
}

func start(ctx context.Context, o options, out io.Writer) error {
	if o.bound < redislog.MinBound || o.bound > maxBound {
		return fmt.Errorf("flag -bound: %v is not between %v and %v", o.bound, redislog.MinBound, maxBound)
	}
	if o.root == "" {
		o.root = goroot(ctx)
	}
	x, err := newIndex(o.root)
	if err != nil {
		return fmt.Errorf("flag -root: %w", err)
	}
	if o.file != "" {
		if err := fromFile(ctx, x, o.file, out); err != nil {
			return fmt.Errorf("flag -file: %w", err)
		}
		return nil
	}
	f, err := newFleet(ctx, o.redis, o.bound)
	if err != nil {
		return fmt.Errorf("flag -redis: %w", err)
	}
	defer f.done()
	fmt.Fprintf(out, "Two sets of tiers, as in two processes, share %s and a log with a bound of %v.\n", f.name, f.bound)
	fmt.Fprintf(out, "The source is %s: %d packages to parse.\n\n", x.src, len(x.paths))
	return tell(ctx, x, f, out)
}

// goroot returns where Go is installed, "" if nobody knows.
func goroot(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if dir := strings.TrimSpace(string(out)); err == nil && dir != "" {
		return dir
	}
	return runtime.GOROOT() //nolint:staticcheck // SA1019: all that is left where there is no go command
}
