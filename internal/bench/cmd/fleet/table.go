package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/internal/bench/report"
)

// A Redis serves a fleet well while it uses less than wellRedis of a core and 99 % of the records
// arrive within a tenth of the bound.
const wellRedis = 0.8

func (c *cell) well() bool {
	return c.Redis < wellRedis && c.Lag99 < c.Bound/10 && c.Sent >= 0.95*float64(c.Rate)
}

func (c *cell) followers() float64 { return float64(c.Members + c.Writers) }

// knee returns the size of the largest fleet that was served well at a rate, provided that all
// smaller ones were, too; 0: none.
func knee(cells []cell, kind string, rate int, bound time.Duration) (size int) {
	for _, c := range cells { // by size
		if c.Kind != kind || c.Rate != rate || c.Bound != bound || c.Real {
			continue
		}
		if !c.well() {
			break
		}
		size = c.Members
	}
	return size
}

// knees formats the knees of keys and of tags; without invalidations there is only one.
func knees(cells []cell, rate int, bound time.Duration) string {
	keys := strconv.Itoa(knee(cells, byKey, rate, bound))
	if rate == 0 {
		return keys
	}
	return keys + ", " + strconv.Itoa(knee(cells, byTag, rate, bound))
}

// costs are processor seconds per unit of each of three activities.
type costs [3]float64

func (k costs) of(n [3]float64) float64 { return k[0]*n[0] + k[1]*n[1] + k[2]*n[2] }

// fit returns the non-negative costs that best explain the measurements. The key of a line is the
// number of units of each activity, its value is their total cost.
func fit(lines map[[3]float64]float64) (k costs) {
	for range 20_000 {
		for j := range k {
			var up, down float64
			for n, cost := range lines {
				share := n[j] / cost
				up += share * (1 - (k.of(n)-k[j]*n[j])/cost)
				down += share * share
			}
			if down > 0 {
				k[j] = max(0, up/down)
			}
		}
	}
	return k
}

// costsOf returns the costs for Redis of a script, a read of the tail and a record in a reply, and
// the costs for a process of an idle second, a read and a record.
func costsOf(cells []cell) (redis, member costs) {
	ofRedis, ofMember := map[[3]float64]float64{}, map[[3]float64]float64{}
	for _, c := range cells {
		if c.Redis > 0 && c.Redis < 0.95 {
			ofRedis[[3]float64{c.Scripts, c.Reads, c.Records * c.followers()}] = c.Redis
		}
		if c.Real && c.Member > 0 {
			ofMember[[3]float64{1, c.Reads / c.followers(), c.Records}] = c.Member
		}
	}
	return fit(ofRedis), fit(ofMember)
}

// load is what a process does in a second at one rate, for any size of the fleet.
type load struct{ renewals, reads, records, bytes float64 }

// loadOf takes the load from fleets that were served well. It ignores very small fleets, because
// most of their members are writers.
func loadOf(cells []cell, rate int, bound time.Duration) (l load) {
	for _, c := range cells {
		if c.Bound != bound {
			continue
		}
		if c.Rate == 0 {
			l.renewals = max(l.renewals, c.Scripts/c.followers())
		}
		if c.Rate == rate && c.Members >= 10 && c.well() {
			l.reads, l.bytes = max(l.reads, c.Reads/c.followers()), max(l.bytes, c.Out/c.followers())
			l.records = max(l.records, c.Records)
		}
	}
	return l
}

// cores returns the cores of Redis that n processes use, if their records are divided among that
// many logs and each process follows one.
func (k costs) cores(l load, n, logs float64) float64 {
	return k.of([3]float64{l.records + n*l.renewals, n * l.reads, n * l.records / logs})
}

// most returns the largest number of processes that Redis serves well; 0: none.
func (k costs) most(l load) float64 {
	none := k.cores(l, 0, 1)
	return math.Floor(max(0, (wellRedis-none)/(k.cores(l, 1, 1)-none)))
}

// logs returns the least number of logs that serve n processes well, each on its own Redis.
func (k costs) logs(l load, n float64) string {
	for i := 1.0; i <= 1000; i++ {
		if k.cores(l, n, i)/i < wellRedis {
			return report.Number(i)
		}
	}
	return "–"
}

func write(ctx context.Context, o *plan, cells []cell) string {
	redis, member := costsOf(cells)
	us := func(s float64) string { return report.Number(s * 1e6) }
	return "# What a fleet costs\n\n" + report.Heading(ctx, "", []string{"github.com/redis/go-redis/v9"}) + fmt.Sprintf(`
Made by "make fleet". "100 + 8" is 100 members that listen, all in one process, and 8 that invalidate, in another. "20 real + 8" is 20
processes that listen. A member is one Tiers with its own connections and its own follower of the log. The remote tier is on the same
Redis, so an invalidation of a key also removes a cell. Redis and all members share this machine's processors.

Lag is the time from the call of Invalidate until another member refuses the old value, for samples in %d members;
"too long" is more than %v after the end of the measurement, which took %v.
If at some rate Redis used a whole core, or p99 of the lag was above the bound, higher rates are left out.

`, timed, grace, o.each) + measured(cells).Markdown() + fmt.Sprintf(`
## Capacity

One Redis serves a fleet well while it uses less than %.0f %% of a core, and while 99 %% of the records arrive within a tenth of the
bound. By the table above, Redis spends %s µs on a script, which appends or renews, %s µs on a read of the tail, and %s µs on each record
in a reply. A process spends %s µs a second without records, %s µs on a read of the tail, and %s µs on each record.

`, 100*wellRedis, us(redis[0]), us(redis[1]), us(redis[2]), us(member[0]), us(member[1]), us(member[2])) +
		capacity(o, cells, redis, member).Markdown()
}

func measured(cells []cell) report.Table {
	t := report.Table{Head: []string{
		"of", "members", "bound", "asked /s", "made /s", "records /s", "Redis, % of a core", "in, MB/s", "out, MB/s",
		"XREAD /s", "EVALSHA /s", "one member, % of a core", "lag p50, ms", "lag p99, ms",
	}}
	for _, c := range cells {
		size := fmt.Sprintf("%d + %d", c.Members, c.Writers)
		if c.Real {
			size = fmt.Sprintf("%d real + %d", c.Members, c.Writers)
		}
		row := []string{c.Kind, size, c.Bound.String()}
		for _, f := range []float64{
			float64(c.Rate), c.Sent, c.Records, 100 * c.Redis, c.In / 1e6, c.Out / 1e6, c.Reads, c.Scripts, 100 * c.Member,
		} {
			row = append(row, report.Number(f))
		}
		t.Rows = append(t.Rows, append(row, lag(c.Lag50), lag(c.Lag99)))
	}
	return t
}

// lag formats a lag in milliseconds.
func lag(d time.Duration) string {
	if d >= unheard {
		return "too long"
	}
	return report.Number(d.Seconds() * 1000)
}

func capacity(o *plan, cells []cell, redis, member costs) report.Table {
	t := report.Table{
		Head: []string{
			"bound", "invalidations /s", "records /s", "processes, measured: keys, tags", "processes, computed", "one process, % of a core", "kB/s to one process",
			"1,000 processes: cores of Redis", "logs", "10,000 processes: cores of Redis", "logs",
		},
		Note: `Measured is the largest fleet in the test that Redis served well. Computed is the number of processes that bring Redis to the limit:
n processes at r records a second cost script × (r + renewals × n) + read × reads × n + record × r × n. Invalidations of one process whose
calls overlap share a record. The logs are by namespace, each on its own Redis: a process follows only the log of its namespaces, so k logs
divide the last term by k, and the whole by k Redis servers. A process that follows all k logs renews and reads in each of them. Then only
the last term is divided, and a longer bound is the better remedy: renewals are inverse to it, and so are reads at high rates.`,
	}
	for _, bound := range o.bounds {
		for _, rate := range o.rates {
			l := loadOf(cells, rate, bound)
			if l.reads == 0 {
				continue
			}
			row := []string{
				bound.String(), strconv.Itoa(rate), report.Number(l.records), knees(cells, rate, bound),
				report.Number(redis.most(l)), report.Number(100 * member.of([3]float64{1, l.reads, l.records})), report.Number(l.bytes / 1000),
			}
			for _, n := range []float64{1000, 10_000} {
				row = append(row, report.Number(redis.cores(l, n, 1)), redis.logs(l, n))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
