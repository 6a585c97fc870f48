package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// report prints what happened, and keeps how long reads took by where their
// values came from.
type report struct {
	out   io.Writer
	times map[cache.Source][]time.Duration
}

// read is one read: what it brought, and how long it took.
type read struct {
	cache.Result[Package]
	took time.Duration
}

// String tells the read's source and time.
func (r read) String() string {
	stale := ""
	if r.Stale {
		stale = ", stale"
	}
	return fmt.Sprintf("%v%s in %v", r.Source, stale, round(r.took))
}

// fetch reads path and notes how long that took.
func (r *report) fetch(ctx context.Context, c packageCache, path string) (read, error) {
	start := time.Now()
	got, err := c.Fetch(ctx, path, nil)
	took := time.Since(start)
	if got.Source != 0 {
		r.times[got.Source] = append(r.times[got.Source], took)
	}
	return read{got, took}, err
}

// want is fetch of a value, or of an absence, that must come from src.
func (r *report) want(ctx context.Context, c packageCache, path string, src cache.Source, absent bool) (read, error) {
	got, err := r.fetch(ctx, c, path)
	switch {
	case absent && err == nil:
		return got, fmt.Errorf("%s was found", path)
	case err != nil && (!absent || !errors.Is(err, cache.ErrNotFound)):
		return got, err
	case got.Source != src:
		return got, fmt.Errorf("%s came from %v, want %v", path, got.Source, src)
	}
	return got, nil
}

// latencies prints the percentiles of each source.
func (r *report) latencies() {
	w := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\nsource\treads\tp50\tp95\tp99\t\n")
	for _, src := range []cache.Source{cache.Local, cache.Remote, cache.Load} {
		t := r.times[src]
		slices.Sort(t)
		fmt.Fprintf(w, "%v\t%d\t%v\t%v\t%v\t\n", src, len(t), at(t, .50), at(t, .95), at(t, .99))
	}
	_ = w.Flush()
}

func at(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return round(sorted[int(p*float64(len(sorted)-1))])
}

// counters prints what the tiers counted.
func (r *report) counters(first, second cache.Stats) {
	w := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\n\tfirst\tsecond\t\n")
	a, b := first.Total, second.Total
	for _, row := range []struct {
		name string
		a, b any
	}{
		{"local hits", a.LocalHits, b.LocalHits},
		{"remote hits", a.RemoteHits, b.RemoteHits},
		{"misses", a.Misses, b.Misses},
		{"merged", a.Merged, b.Merged},
		{"negative", a.Negatives, b.Negatives},
		{"stale, refreshing", a.StaleRevalidating, b.StaleRevalidating},
		{"stale, load failed", a.StaleOnError, b.StaleOnError},
		{"refreshes", a.Refreshes, b.Refreshes},
		{"loads", a.Loads, b.Loads},
		{"load errors", a.LoadErrors, b.LoadErrors},
		{"remote fills", a.Fills, b.Fills},
		{"invalidated tags", first.Kinds.Tags, second.Kinds.Tags},
		{"local entries", first.Local.Entries, second.Local.Entries},
		{"local KiB", first.Local.Bytes >> 10, second.Local.Bytes >> 10},
		{"log records", first.Log.Records, second.Log.Records},
		{"log gaps", first.Log.Gaps, second.Log.Gaps},
		{"log bumps", first.Log.Bumps, second.Log.Bumps},
		{"lease lapses", first.Log.Lapses, second.Log.Lapses},
		{"lease age", round(first.Log.LeaseAge), round(second.Log.LeaseAge)},
	} {
		fmt.Fprintf(w, "%s\t%v\t%v\t\n", row.name, row.a, row.b)
	}
	_ = w.Flush()
}

// round keeps three digits or so: more would be noise.
func round(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}
