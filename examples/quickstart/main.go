// Command quickstart indexes the Go standard library of the machine it runs on
// through two sets of tiers that share one remote tier, as two processes would,
// and tells what each read cost and where its value came from. It ends with
// status 1 if anything it promises did not happen.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -redis redis://localhost:6379
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

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the program. It returns its exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(errs)
	url := flags.String("redis", "", "URL of a Redis to share, such as redis://localhost:6379 (default: in memory)")
	root := flags.String("root", "", "Go installation to index (default: this machine's)")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := start(ctx, *root, *url, out); err != nil {
		fmt.Fprintln(errs, "quickstart:", err)
		return 1
	}
	return 0
}

func start(ctx context.Context, root, url string, out io.Writer) error {
	if root == "" {
		root = goroot(ctx)
	}
	x, err := newIndex(root)
	if err != nil {
		return err
	}
	shared, name, done, err := remote(ctx, url)
	if err != nil {
		return err
	}
	defer done()
	fmt.Fprintf(out, "Two sets of tiers, as in two processes, share %s.\nThe source is %s: %d packages to parse.\n\n", name, x.src, len(x.paths))
	return tell(ctx, x, shared, out)
}

// remote returns the tier that both sets of tiers share, and its name.
func remote(ctx context.Context, url string) (shared tier.Remote, name string, done func(), err error) {
	if url == "" {
		return tiertest.NewMemory(), "a remote tier in memory", func() {}, nil
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, "", nil, fmt.Errorf("flag -redis: %w", err)
	}
	o.ContextTimeoutEnabled = true // or a Redis that has stopped would hold reads for its own timeouts
	rdb := redis.NewClient(o)
	if err := rdb.Ping(ctx).Err(); err != nil {
		return nil, "", nil, errors.Join(fmt.Errorf("redis at %s: %w", o.Addr, err), rdb.Close())
	}
	// A prefix of its own for each run, so that the first read is a cold one.
	prefix := fmt.Sprintf("quickstart-%x", tier.NewNonce())
	shared = redistier.New(rdb, redistier.Config{Prefix: prefix})
	return shared, "Redis at " + o.Addr, func() { _ = rdb.Close() }, nil
}

// goroot returns where Go is installed, "" if nobody knows.
func goroot(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if dir := strings.TrimSpace(string(out)); err == nil && dir != "" {
		return dir
	}
	return runtime.GOROOT() //nolint:staticcheck // SA1019: all that is left where there is no go command
}
