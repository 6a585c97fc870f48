// Fleet measures what many processes on one Redis cost, by their number and by the rate of
// invalidations: the processor time of Redis and of the processes, and the time a record takes to
// arrive. It starts redis-server from the PATH, and itself once more for the listening members and
// for the invalidating ones.
package main

import (
	"context"
	"flag"
	"time"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

func main() {
	setup.Main("fleet", childEnv, child, func(ctx context.Context) error {
		out := flag.String("out", "", "write the results into this file; empty: standard output")
		flag.Parse()
		cells, err := measureAll(ctx, &whole)
		if err != nil {
			return err
		}
		return setup.Deliver(*out, write(ctx, &whole, cells))
	})
}

// plan says what is measured.
type plan struct {
	members []int           // sizes of fleets
	rates   []int           // invalidations a second, rising
	bounds  []time.Duration // of the log; only the two largest fleets have any but the first
	real    int             // size of a fleet in which each member that listens is a process
	each    time.Duration   // how long a fleet is measured at one rate
}

var whole = plan{
	members: []int{1, 10, 50, 100, 200}, rates: []int{0, 200, 2000, 20_000},
	bounds: []time.Duration{redislog.DefaultBound, 5 * redislog.DefaultBound}, real: 20, each: 4 * time.Second,
}

func measureAll(ctx context.Context, o *plan) ([]cell, error) {
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
			if i == 0 {
				m.fleet(cell{Members: o.real, Bound: bound, Real: true})
			}
		}
	})
	return m.cells, err
}
