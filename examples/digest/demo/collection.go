package demo

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/newsroom"
	"github.com/twofold-go/twofold/examples/digest/population"
)

// collection checks what was promised of the collector, at the end of the day, and of all
// that was counted.
func (s *scenario) collection(ctx context.Context) error {
	status, err := s.app.Collector.Status(ctx)
	if err != nil {
		return err
	}
	byName := map[string]collector.SourceStatus{}
	for _, st := range status.Sources {
		byName[st.Name] = st
	}
	for _, f := range newsroom.Faults() {
		st := byName[f.Source]
		s.promises.check(keptRecovered, st.Status == "ok" && (st.FetchErrorCount > 0) == f.Fails,
			"%s failed %d times and is %q", f.Source, st.FetchErrorCount, st.Status)
	}
	s.promises.check(keptParked, status.Stats.ParkedSources == 1 && status.Stats.PausedSources == 0,
		"%d parked, %d paused", status.Stats.ParkedSources, status.Stats.PausedSources)
	s.recovered = s.failures(status)
	if err := s.moved(ctx); err != nil {
		return err
	}
	if err := s.stored(ctx); err != nil {
		return err
	}
	s.table()
	return s.counted(ctx)
}

// failures tells of those that failed, and how often.
func (s *scenario) failures(status collector.Status) (all []string) {
	for _, st := range status.Sources {
		if st.FetchErrorCount > 0 {
			all = append(all, st.Name+" "+comma(st.FetchErrorCount))
		}
	}
	slices.Sort(all)
	return all
}

// moved checks that the source whose newsroom address is a redirect has been given the
// address that it leads to.
func (s *scenario) moved(ctx context.Context) error {
	was, err := newsroom.Sources(s.base)
	if err != nil {
		return err
	}
	for i, old := range was {
		now, err := s.app.Store.Source(ctx, s.sources[i])
		if err != nil {
			return err
		}
		var before, after struct{ URL string }
		if err := json.Unmarshal(old.Config, &before); err != nil {
			return err
		}
		if err := json.Unmarshal(now.Config, &after); err != nil {
			return err
		}
		if moves := strings.HasPrefix(before.URL, s.base+"/blog/"); moves || before != after {
			s.promises.check(keptMoved, moves && before != after, "%s is asked at %s", now.Name, after.URL)
		}
	}
	return nil
}

// stored checks that there are as many items as the collector says were new, and that no
// source has two of one address. A page that is an item whenever it changes is no such.
func (s *scenario) stored(ctx context.Context) error {
	const all = 1 << 20
	counts := sum(s.collected, s.app.Collector.Counts())
	sources, err := s.app.Store.Sources(ctx, s.sources)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, source := range sources {
		items, err := s.app.Store.Items(ctx, []int64{source.ID}, s.day.Start, s.day.End.Add(24*time.Hour), all)
		if err != nil {
			return err
		}
		total += int64(len(items))
		seen := map[string]bool{}
		for _, it := range items {
			if !strings.Contains(it.URL, "/sites/") {
				s.promises.check(keptStored, !seen[it.URL], "%s of %s", it.URL, source.Name)
			}
			seen[it.URL] = true
		}
	}
	s.promises.check(keptStored, total == counts.New, "%d items, %d were new", total, counts.New)
	return nil
}

// table checks the figures of the document's table. It has none for fewer users.
func (s *scenario) table() {
	row := population.Nearest(s.cfg.Users)
	if s.cfg.Users < row.Users {
		return
	}
	for _, c := range []combinations{s.daily, s.worst} {
		s.promises.check(keptRatio, c.hitRatio() >= row.HitRatio, "%s, promised %s", percent(c.hitRatio()), percent(row.HitRatio))
		s.promises.check(keptCut, math.Round(10*c.cut())/10 >= row.CallsCut, // as the document rounds
			"%.1f times fewer, promised %.1f", c.cut(), row.CallsCut)
	}
}

// counted checks the numbers that the program has kept of itself, restart and all.
func (s *scenario) counted(ctx context.Context) error {
	stats, err := s.app.Digests.Stats(ctx, time.Time{})
	if err != nil {
		return err
	}
	for kind, t := range s.tallies {
		got := stats.CountsByKind[string(kind)]
		for name, want := range map[string]int64{
			"requests": t.requests, "hits": t.memory + t.database, "merged": t.merged, "misses": t.misses, "empty": t.empty,
			"llm_calls": s.meter.count(kind),
		} {
			s.promises.check(keptCounts, got[name] == want, "%s of %s is %d, want %d", name, kind, got[name], want)
		}
	}
	return nil
}
