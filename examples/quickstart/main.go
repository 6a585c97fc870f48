// Command quickstart reads the documentation of Go's standard library through a cache, as
// two processes would. Each line says what happened, and which call of the library did it.
// The exit status is 1 if a step did not do what the library promises.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -redis redis://localhost:6379
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/invalidate/redislog"
)

// maxBound keeps the program short: two of its steps last as long as the bound.
const maxBound = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(errs)
	url := flags.String("redis", "", "`URL` of a Redis that the processes share, such as redis://localhost:6379 (default: memory)")
	root := flags.String("root", build.Default.GOROOT, "`folder` of a Go installation")
	bound := flags.Duration("bound", 500*time.Millisecond, "how long a process may serve its copies after its last answer from the log")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(errs, "quickstart: argument %q is not a flag\n", flags.Arg(0))
		return 2
	case *bound < redislog.MinBound || *bound > maxBound:
		fmt.Fprintf(errs, "quickstart: flag -bound: %v is not between %v and %v\n", *bound, redislog.MinBound, maxBound)
		return 2
	}
	if err := start(ctx, filepath.Join(*root, "src"), *url, *bound, out); err != nil {
		fmt.Fprintln(errs, "quickstart:", err)
		return 1
	}
	return 0
}

func start(ctx context.Context, src, url string, bound time.Duration, out io.Writer) error {
	x, err := newIndex(src)
	if err != nil {
		return fmt.Errorf("flag -root: %w", err)
	}
	f, err := newFleet(ctx, url, bound)
	if err != nil {
		return fmt.Errorf("flag -redis: %w", err)
	}
	defer f.close()
	return tell(ctx, x, f, out)
}
