package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
)

// explain prints what does not fit into a table: the first violations with the events around them,
// and the errors.
func (r *result) explain(out io.Writer) {
	for _, v := range first(3, r.verdict.Violations) {
		r.describe(out, "violation", v)
	}
	for _, v := range first(3, r.verdict.FalseAlarms) {
		r.describe(out, "false alarm of an audit", v)
	}
	r.byProcess(out)
	fmt.Fprintln(out)
	for _, in := range r.incidents {
		fmt.Fprintf(out, "fault from %v to %v: %s\n", r.since(in.Start), r.since(in.End), in.What)
	}
	for i, rep := range r.reports {
		fmt.Fprintf(out, "process %d: %d loads, %d slow, %d reads given up\n", i, rep.Loads, rep.SlowLoads, rep.Hasty)
		texts := slices.SortedFunc(maps.Keys(rep.Errors), func(a, b string) int {
			return cmp.Compare(rep.Errors[b], rep.Errors[a])
		})
		for _, text := range texts[:min(6, len(texts))] {
			fmt.Fprintf(out, "  %6d × %s\n", rep.Errors[text], text)
		}
		fmt.Fprintf(out, "  stats: %+v\n  log: %+v\n  audits: %+v\n", rep.Stats.Total, rep.Stats.Log, rep.Stats.Audits)
	}
}

// first returns the first n of the violations, one for each value that a worker has kept for too long.
func first(n int, list []history.Violation) []history.Violation {
	type value struct {
		proc, level uint8
		key         uint16
		version     int64
	}
	seen := map[value]bool{}
	var out []history.Violation
	for _, v := range list {
		k := value{v.Read.Proc, v.Read.Level, v.Read.Key, v.Read.Version}
		if len(out) < n && !seen[k] {
			out = append(out, v)
		}
		seen[k] = true
	}
	return out
}

// byProcess counts violations by reading process and tier.
func (r *result) byProcess(out io.Writer) {
	counts := map[string]int{}
	for _, v := range r.verdict.Violations {
		counts[fmt.Sprintf("worker %d, level %d, from %v after an invalidation by %v, own %v", v.Read.Proc, v.Read.Level, v.Read.Tier, v.Ack.Kind, v.Own)]++
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "\n%d violations: %s", counts[k], k)
	}
}

// since returns a time relative to the start of the run.
func (r *result) since(ns int64) time.Duration {
	return time.Duration(ns - r.began).Round(10 * time.Microsecond)
}

// describe says how late a read was. The events around it say the rest.
func (r *result) describe(out io.Writer, what string, v history.Violation) {
	e, a := v.Read, v.Ack
	by := fmt.Sprintf("invalidated by worker %d (call %d)", a.Proc, a.Op)
	if a.Type == 0 {
		by = "which the source held"
	}
	fmt.Fprintf(out, "\n%s: %s: worker %d read version %d of level %d at %v; version %d, %s by %v: %v earlier, own process %v, allowed %v\n",
		what, worker.Name(int(e.Key)), e.Proc, e.Version, e.Level, r.since(e.Start),
		a.Version, by, r.since(a.End), time.Duration(v.Staleness), v.Own, time.Duration(v.Limit))
	r.around(out, v)
}

// reported formats what the cache reported about a read's value, if the call reports anything.
func reported(e history.Event) string {
	if e.Tier == history.Untold {
		return ""
	}
	s := fmt.Sprintf(" (%v, stale %v, loaded %v before)", e.Tier, e.Stale, time.Duration(e.Age).Round(time.Microsecond))
	if e.MaxAge > 0 {
		s += fmt.Sprintf(", asked for at most %v", time.Duration(e.MaxAge))
	}
	return s
}

// around prints the other events of the key: every invalidation, and each read whose version
// differs from the same process's read before.
func (r *result) around(out io.Writer, v history.Violation) {
	var near []history.Event
	for _, e := range r.events {
		if e.Key == v.Read.Key && e.Type != history.Ping &&
			e.End >= cmp.Or(v.Ack.Start, v.Ack.End)-int64(2*time.Second) && e.Start <= v.Read.End+int64(time.Second/4) {
			near = append(near, e)
		}
	}
	slices.SortFunc(near, func(a, b history.Event) int { return cmp.Compare(a.End, b.End) })
	last := map[[2]uint8]int64{} // by process and level
	for _, e := range near {
		reader := [2]uint8{e.Proc, e.Level}
		switch {
		case e.Type == history.Read && (e.Version == last[reader] && e != v.Read):
		case e.Type == history.Read:
			last[reader] = e.Version
			fmt.Fprintf(out, "    %v–%v worker %d reads version %d of level %d%s\n",
				r.since(e.Start), r.since(e.End), e.Proc, e.Version, e.Level, reported(e))
		default:
			fmt.Fprintf(out, "    %v–%v worker %d %s version %d by %v (call %d)\n", r.since(e.Start), r.since(e.End), e.Proc,
				map[history.Type]string{history.Acked: "invalidates", history.Committed: "commits", history.Refused: "fails to invalidate", history.NoRead: "fails to read", history.Alarm: "audits and finds"}[e.Type],
				e.Version, e.Kind, e.Op)
		}
	}
}
