package main

import (
	"fmt"
	"strconv"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/report"
)

// column is a column of the table.
type column struct {
	title string
	cell  func(*result) string
}

func columns() []column {
	cols := []column{
		{"run", func(r *result) string { return r.c.name() }},
		{"B", func(r *result) string { return r.c.Bound.String() }},
		{"faults", func(r *result) string { return strconv.Itoa(len(r.incidents)) }},
		{"reads (failed)", func(r *result) string { return count(r.verdict.Reads, r.verdict.Failed) }},
		{"invalidations (failed)", func(r *result) string { return count(r.verdict.Acks, r.verdict.Refusals) }},
		{"loads", func(r *result) string { return strconv.FormatInt(r.loads(), 10) }},
		{"audits", (*result).audited},
		{"stale hits (false)", (*result).alarms},
		{"stale", func(r *result) string { return strconv.Itoa(r.verdict.Stale) }},
	}
	for _, t := range history.Tiers {
		cols = append(cols, column{t.String(), func(r *result) string { return spread(r.verdict.ByTier[t]) }})
	}
	for _, k := range history.Kinds {
		cols = append(cols, column{"by " + k.String(), func(r *result) string { return spread(r.verdict.ByKind[k]) }})
	}
	return append(cols, []column{
		{"**violations**", (*result).violations},
		{"seen elsewhere", func(r *result) string { return two(r.lag.FromAck) }},
		{"since the call", func(r *result) string { return two(r.lag.FromCall) }},
		{"Invalidate", func(r *result) string { return two(r.verdict.Invalidation) }},
		{"× PING", (*result).ratio},
		{"gaps/bumps/lapses", (*result).health},
	}...)
}

const legend = `Times in milliseconds: number of stale reads, then p50/p99/max of their staleness, by the tier that
answered ("untold": by calls that do not report it) and by the kind of the first invalidation. Other
times are p50/p99. "Seen elsewhere" is the time from an invalidation's return to the first read of
the version by another process, slow loads included. Loads, gaps, bumps and lapses are counted in
processes that ran to the end. So are audits, of every hit until 100 have begun in a second: "same" and "ended"
ones, then failed ones. "False" ones of the stale hits that audits reported had an invalidation in time.
"× PING" is the median of Invalidate divided by the median of a bare
round trip in the same run.
With a database, "Invalidate" is a transaction that writes the source and the outbox. With "settle",
it is the call or the transaction, and Settle after it. With "tickets", reads are by Fetch and GetMany with the tickets
of all processes. With a database, reads are judged by samples of the source. With "plain SQL" the
transaction only writes the source, whose triggers write the outbox. With "redis-cli", Invalidate is a process of that program, and one in eight is killed.`

// table returns the results as Markdown.
func table(results []*result) string {
	t := report.Table{Note: legend, Rows: make([][]string, len(results))}
	for _, c := range columns() {
		t.Head = append(t.Head, c.title)
		for i, r := range results {
			t.Rows[i] = append(t.Rows[i], c.cell(r))
		}
	}
	return t.Markdown()
}

func count(good, bad int) string {
	if bad == 0 {
		return strconv.Itoa(good)
	}
	return fmt.Sprintf("%d (%d)", good, bad)
}

func spread(list []int64) string {
	if len(list) == 0 {
		return "–"
	}
	return fmt.Sprintf("%d: %s/%s", len(list), two(list), ms(list[len(list)-1]))
}

func two(list []int64) string {
	if len(list) == 0 {
		return "–"
	}
	return ms(measure.Quantile(list, 0.5)) + "/" + ms(measure.Quantile(list, 0.99))
}

// ms formats nanoseconds as milliseconds.
func ms(ns int64) string { return report.Number(float64(ns) / 1e6) }

// sum adds up a number of all workers that reported.
func (r *result) sum(of func(*worker.Report) int64) (n int64) {
	for i := range r.reports {
		n += of(&r.reports[i])
	}
	return n
}

func (r *result) loads() int64 { return r.sum(func(rep *worker.Report) int64 { return rep.Loads }) }

func (r *result) violations() string {
	n := strconv.Itoa(len(r.verdict.Violations))
	if r.c.breaks() {
		return n + " (must be)"
	}
	return "**" + n + "**"
}

func (r *result) audited() string {
	return fmt.Sprintf("%d/%d/%d", r.sum(func(rep *worker.Report) int64 { return rep.Stats.Audits.Same }),
		r.sum(func(rep *worker.Report) int64 { return rep.Stats.Audits.Ended }),
		r.sum(func(rep *worker.Report) int64 { return rep.Stats.Audits.Failed }))
}

func (r *result) alarms() string {
	s := fmt.Sprintf("%d (**%d**)", r.verdict.Alarms, len(r.verdict.FalseAlarms))
	if r.c.Expect == alarms || r.c.Expect == falseAlarms {
		s += " (must be)"
	}
	return s
}

func (r *result) ratio() string {
	ping := measure.Quantile(r.verdict.PingTime, 0.5)
	if ping == 0 || r.c.Settle { // a call that waits for the bound is not compared
		return "–"
	}
	return report.Number(float64(measure.Quantile(r.verdict.Invalidation, 0.5)) / float64(ping))
}

// health returns the library's numbers about the log.
func (r *result) health() string {
	return fmt.Sprintf("%d/%d/%d", r.sum(func(rep *worker.Report) int64 { return rep.Stats.Log.Gaps }),
		r.sum(func(rep *worker.Report) int64 { return rep.Stats.Log.Bumps }),
		r.sum(func(rep *worker.Report) int64 { return rep.Stats.Log.Lapses }))
}
