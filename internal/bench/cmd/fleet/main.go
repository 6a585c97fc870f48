// Fleet measures what many processes on one Redis cost, by their number and by the rate of
// invalidations: the processor time of Redis and of the processes, and the time a record takes to
// arrive. It starts redis-server from the PATH, and itself once more for the listening members and
// for the invalidating ones.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// run does the work of a child or of the parent.
func run(ctx context.Context, args []string, out io.Writer) error {
	redis.SetLogger(silent{})                      // ended connections are expected
	slog.SetDefault(slog.New(slog.DiscardHandler)) // some rates exceed the capacity on purpose
	if os.Getenv(childEnv) != "" {
		return child(os.Stdin, out)
	}
	o, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}
	cells, err := measureAll(ctx, o)
	if err != nil {
		return err
	}
	text := write(ctx, o, cells)
	if o.out != "" {
		return os.WriteFile(o.out, []byte(text), 0o644) //nolint:gosec // for everybody to read
	}
	_, err = io.WriteString(out, text)
	return err
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// options are the values of the command line.
type options struct {
	members, rates []int
	bounds         []time.Duration
	real           int
	each           time.Duration
	out            string
}

func parse(args []string, log io.Writer) (*options, error) {
	o := &options{members: []int{1, 10, 50, 100, 200}, rates: []int{0, 200, 2000, 20_000}}
	o.bounds = []time.Duration{redislog.DefaultBound, 5 * redislog.DefaultBound}
	fs := flag.NewFlagSet("fleet", flag.ContinueOnError)
	fs.SetOutput(log)
	fs.Func("members", "sizes of fleets (default 1,10,50,100,200)", list(&o.members, strconv.Atoi))
	fs.Func("rates", "invalidations a second, rising (default 0,200,2000,20000)", list(&o.rates, strconv.Atoi))
	fs.Func("bounds", "of the log; only the two largest fleets have any but the first (default 2s,10s)", list(&o.bounds, time.ParseDuration))
	fs.IntVar(&o.real, "real", 20, "size of a fleet in which each member that listens is a process; 0: none")
	fs.DurationVar(&o.each, "each", 4*time.Second, "how long a fleet is measured at one rate")
	fs.StringVar(&o.out, "out", "", "write the results into this file; empty: standard output")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 || o.real < 0 || o.each <= 0 {
		return nil, fmt.Errorf("%q: want only flags, -real of 0 or more, and -each above 0", args)
	}
	return o, nil
}

// list parses a flag with several values.
func list[T int | time.Duration](to *[]T, read func(string) (T, error)) func(string) error {
	return func(text string) error {
		*to = nil
		for s := range strings.SplitSeq(text, ",") {
			v, err := read(s)
			if err != nil || v < 0 {
				return errors.New("want values of 0 or more, separated by commas")
			}
			*to = append(*to, v)
		}
		return nil
	}
}

func measureAll(ctx context.Context, o *options) (cells []cell, err error) {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	r, err := rig.Start(ctx, rig.Config{Fault: "none", Workers: 1, Dir: dir})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rdb := peers.Client(r.Redis())
	defer func() { _ = rdb.Close() }() // no calls are under way
	m := meter{o, rdb, post{Redis: r.Redis(), Prefix: r.Prefix()}, nil}
	for i, bound := range o.bounds {
		sizes := o.members
		if i > 0 {
			sizes = sizes[max(0, len(sizes)-2):]
		}
		for _, n := range sizes {
			if err := m.fleet(ctx, cell{Members: n, Bound: bound}); err != nil {
				return nil, err
			}
		}
		if o.real > 0 && i == 0 {
			if err := m.fleet(ctx, cell{Members: o.real, Bound: bound, Real: true}); err != nil {
				return nil, err
			}
		}
	}
	return m.cells, nil
}
