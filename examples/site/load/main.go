// Command load measures what the site's caches are good for: it runs the site with
// and without them, asks both for the same things in turns, and prints a table.
//
//	go run ./examples/site/load
//	go run ./examples/site/load -clients 16 -time 5s -rounds 5
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/twofold-go/twofold/examples/site/siteproc"
)

// options are what the flags say.
type options struct {
	clients, rounds int
	time            time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.clients, "clients", 8, "clients that ask, each for one thing at a time")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each class is measured with and without caches, in turns")
	flag.DurationVar(&o.time, "time", 2*time.Second, "how long a measurement takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := siteproc.Build(ctx, dir)
	if err != nil {
		return err
	}
	var sites [2]*target
	for i, flags := range [][]string{{"-cache=true"}, {"-cache=false"}} {
		s, err := siteproc.Start(ctx, program, flags...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Stop()) }()
		sites[i] = newTarget(s, o.clients)
	}
	fmt.Printf("%d clients, %d rounds of %v each, %s, %d CPUs (clients and site share them), %s/%s\n\n",
		o.clients, o.rounds, o.time, runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	fmt.Println("| class | | requests/s | p50 | p99 | queries/request | requests/s, cached / not |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, c := range classes {
		if err := measure(ctx, c, sites, o); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// measure measures a class, with and without caches in turns, and prints it.
func measure(ctx context.Context, c class, sites [2]*target, o options) error {
	var sums [2]sample
	for _, s := range sites { // connections, and what a cache has after the first request
		if _, err := s.ask(ctx, c, o.time/4); err != nil {
			return err
		}
	}
	for range o.rounds {
		for i, s := range sites {
			got, err := s.ask(ctx, c, o.time)
			if err != nil {
				return err
			}
			sums[i].add(got)
		}
	}
	for i, with := range []string{"cached", "not"} {
		ratio := ""
		if i == 0 {
			ratio = fmt.Sprintf("%.1f", sums[0].rate()/sums[1].rate())
		}
		fmt.Printf("| %s | %s | %.0f | %v | %v | %.3f | %s |\n", c.name, with, sums[i].rate(), sums[i].percentile(50), sums[i].percentile(99),
			float64(sums[i].queries)/float64(len(sums[i].times)), ratio)
	}
	return nil
}
