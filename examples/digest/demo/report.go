package demo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/population"
)

// report prints what came of the day.
func (s *scenario) report(ctx context.Context, took time.Duration) error {
	out := s.cfg.Out
	cache, err := s.app.Store.CacheStats(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s in %s: %s users, %d sources, %s and the day.\n\n", s.day.Start.Format("2 January 2006"), digest.DefaultZone,
		comma(int64(s.cfg.Users)), len(s.sources), plural(int64(s.cfg.windows), "period of four hours", "periods of four hours"))
	for _, print := range []func(*tabwriter.Writer){s.digests, s.compared, s.collectedLines} {
		t := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
		print(t)
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	s.promises.print(out)
	fmt.Fprintf(out, "\n%s digests of %s combinations are in the cache. All of it took %v.\n",
		comma(cache.Total), comma(cache.UniqueHashes), took.Round(100*time.Millisecond))
	return nil
}

// digests prints what was asked for, and what it cost.
func (s *scenario) digests(t *tabwriter.Writer) {
	fmt.Fprintln(t, "\trequests\tfrom memory\tfrom the database\tmerged\tno news\tcalls\ttokens, estimated\tpaid\tsaved\t")
	var all tally
	var spent spending
	for _, kind := range []digest.Kind{digest.FourHours, digest.Daily} {
		of, paid := s.tallies[kind], s.meter.spending(kind)
		tallyLine(t, string(kind), *of, paid)
		all = tally{
			all.requests + of.requests, all.memory + of.memory, all.database + of.database, all.merged + of.merged,
			all.misses + of.misses, all.empty + of.empty,
		}
		spent = spending{spent.calls + paid.calls, spent.tokens + paid.tokens}
	}
	tallyLine(t, "both", all, spent)
}

func tallyLine(t *tabwriter.Writer, name string, of tally, spent spending) {
	fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t$%.2f\t$%.2f\t\n", name, comma(of.requests), comma(of.memory), comma(of.database),
		comma(of.merged), comma(of.empty), comma(spent.calls), comma(spent.tokens),
		digest.DefaultCostPerCall*float64(spent.calls), digest.DefaultCostPerCall*float64(of.saved(spent.calls)))
}

// compared prints the document's table beside what came of it. There each user asks once.
func (s *scenario) compared(t *tabwriter.Writer) {
	row := population.Nearest(s.cfg.Users)
	fmt.Fprintln(t, "each user asks once\tcombinations\thit ratio\tcalls cut\ta month of daily digests\t")
	fmt.Fprintf(t, "promised for %s users\t%d\t%s\t%.1fx\t\t\n", comma(int64(row.Users)), row.Combinations, percent(row.HitRatio), row.CallsCut)
	const days = 30
	for _, line := range []struct {
		name string
		combinations
		money string
	}{
		{"the day", s.daily, fmt.Sprintf("$%.0f, not $%.0f", days*digest.DefaultCostPerCall*float64(s.daily.misses), days*digest.DefaultCostPerCall*float64(s.daily.users))},
		{"the worst four hours", s.worst, ""},
	} {
		fmt.Fprintf(t, "%s\t%d\t%s\t%.1fx\t%s\t\n", line.name, line.misses, percent(line.hitRatio()), line.cut(), line.money)
	}
	_ = t.Flush() // what follows is no table; the last flush tells of an error, too
	if s.cfg.Users < row.Users {
		fmt.Fprintf(s.cfg.Out, "The document promises nothing of so few users.\n")
	}
}

// collectedLines prints what was collected.
func (s *scenario) collectedLines(t *tabwriter.Writer) {
	counts, web := sum(s.collected, s.app.Collector.Counts()), s.news.Stats()
	fmt.Fprintln(t, "fetches\tunchanged\tfailed\tnew items\tcorrected\trequests\tanswered by 304\tbytes\t")
	fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", comma(counts.Succeeded+counts.Failed), comma(counts.NotModified), comma(counts.Failed),
		comma(counts.New), comma(counts.Updated), comma(web.Requests), comma(web.NotModified), humanize.IBytes(uint64(web.Bytes))) //nolint:gosec // it only grows
	_ = t.Flush() // as above
	fmt.Fprintf(s.cfg.Out, "failed for a while, so many times: %s\n", strings.Join(s.recovered, ", "))
	for _, from := range []digest.Origin{digest.FromMemory, digest.FromDatabase} {
		if took := slices.Sorted(slices.Values(s.timings[from])); len(took) > 0 {
			fmt.Fprintf(s.cfg.Out, "a digest that was in the %s, one at a time: %v, the slowest of a hundred %v (%s)\n",
				from, took[len(took)/2].Round(time.Microsecond), took[len(took)*99/100].Round(time.Microsecond), plural(int64(len(took)), "request"))
		}
	}
}

func comma(n int64) string { return humanize.Comma(n) }

func percent(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) + " %" }

// plural returns so many of a thing; the name for many is that with an s, unless it is
// given.
func plural(n int64, one string, many ...string) string {
	name := one
	switch {
	case n != 1 && len(many) > 0:
		name = many[0]
	case n != 1:
		name += "s"
	}
	return comma(n) + " " + name
}
