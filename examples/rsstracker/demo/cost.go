package demo

import (
	"fmt"
	"time"
)

// cost is what one way to run costs the site, as the site counts it.
type cost struct {
	requests, bytes int
	time            time.Duration
}

// add adds what the site has counted since it was asked last.
func (c *cost) add(s *site, took time.Duration) {
	requests, bytes := s.cost()
	c.requests += requests
	c.bytes += bytes
	c.time += took
}

// comparison holds both ways to run against each other.
type comparison struct{ full, incremental cost }

func (c *comparison) add(d comparison) {
	for _, p := range []struct{ to, from *cost }{{&c.full, &d.full}, {&c.incremental, &d.incremental}} {
		p.to.requests += p.from.requests
		p.to.bytes += p.from.bytes
		p.to.time += p.from.time
	}
}

// promised is how much less work there is when 1 % changes, at least.
const promised = 70

// print prints the comparison. Requests and bytes must be what was promised; time
// depends on the machine, and is printed only.
func (c *comparison) print(w *world) error {
	less := func(full, incremental int) float64 { return 100 * (1 - float64(incremental)/float64(full)) }
	requests, bytes := less(c.full.requests, c.incremental.requests), less(c.full.bytes, c.incremental.bytes)
	took := less(int(c.full.time), int(c.incremental.time))
	w.printf("\nThe three runs with 1 %% new, against full mode on the same site:\n")
	w.printf("%-12s %10s %12s %8s\n", "", "full mode", "incremental", "less")
	w.printf("%-12s %10d %12d %7.0f%%\n", "fetches", c.full.requests, c.incremental.requests, requests)
	w.printf("%-12s %10d %12d %7.0f%%\n", "bytes", c.full.bytes, c.incremental.bytes, bytes)
	w.printf("%-12s %10s %12s %7.0f%%\n", "time", c.full.time.Round(time.Millisecond), c.incremental.time.Round(time.Millisecond), took)
	if requests < promised || bytes < promised {
		return fmt.Errorf("%w: %.0f %% fewer fetches and %.0f %% fewer bytes, want at least %d %%", ErrPromise, requests, bytes, promised)
	}
	return nil
}
