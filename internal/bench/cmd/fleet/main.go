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
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

func main() {
	setup.Main("fleet", childEnv, child, func(ctx context.Context) error {
		o, err := parse(os.Args[1:], os.Stderr)
		if err != nil {
			return err
		}
		cells, err := measureAll(ctx, o)
		if err != nil {
			return err
		}
		return setup.Deliver(o.out, write(ctx, o, cells))
	})
}

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

func measureAll(ctx context.Context, o *options) ([]cell, error) {
	t := setup.New(ctx)
	defer t.Close()
	m := meter{t: t, o: o}
	err := setup.Try(func() {
		m.post = post{Redis: redistest.Start(t).Addr(), Prefix: redistest.Prefix()}
		m.rdb = peers.Client(m.post.Redis)
		t.Closing(m.rdb.Close)
		for i, bound := range o.bounds {
			sizes := o.members
			if i > 0 {
				sizes = sizes[max(0, len(sizes)-2):]
			}
			for _, n := range sizes {
				m.fleet(cell{Members: n, Bound: bound})
			}
			if o.real > 0 && i == 0 {
				m.fleet(cell{Members: o.real, Bound: bound, Real: true})
			}
		}
	})
	return m.cells, err
}
