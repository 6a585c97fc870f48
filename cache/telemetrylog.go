package cache

import (
	"go.opentelemetry.io/otel/metric"

	"github.com/twofold-go/twofold/invalidate"
)

// observeLog makes the instruments of the log, and returns what observes them.
// Without a log they are there and say nothing.
func (t *Tiers) observeLog(
	count func(name, desc string) metric.Int64ObservableCounter,
	gauge func(name, unit, desc string) metric.Int64ObservableGauge,
) func(metric.Observer) {
	gap := count("cache.log.gap", "Times records of the log were missing, and what they may have covered was given up.")
	bump := count("cache.log.bump", "Epochs of the log that began: it may have lost its end.")
	lapse := count("cache.log.lapse", "Times the lease ran out.")
	failed := count("cache.log.error", "Calls to the log that failed.")
	age := gauge("cache.lease.age", "ms", "Time since the lease was last confirmed; -1 if it never was.")
	pending := gauge("cache.pending", "{scope}", "Invalidations that wait for a log, or a remote tier, out of reach.")
	return func(ob metric.Observer) {
		if t.follower == nil {
			return
		}
		s := t.follower.Stats()
		ob.ObserveInt64(gap, s.Gaps)
		ob.ObserveInt64(bump, s.Bumps)
		ob.ObserveInt64(lapse, s.Lapses)
		ob.ObserveInt64(failed, s.SyncErrors, with(nil, "op", "sync"))
		ob.ObserveInt64(failed, s.TailErrors, with(nil, "op", "tail"))
		ob.ObserveInt64(age, ageMillis(s))
		ob.ObserveInt64(pending, s.Pending)
	}
}

// observeFences makes the instruments of the fences, and returns what observes them.
func (t *Tiers) observeFences(
	count func(name, desc string) metric.Int64ObservableCounter,
	gauge func(name, unit, desc string) metric.Int64ObservableGauge,
) func(metric.Observer) {
	forgotten := count("cache.fence.forgotten", "Entries and loads given up because a fence that may cover them is no longer remembered.")
	widened := count("cache.hold.widened", "Holds beyond the limit, which hold more than they name.")
	fences := gauge("cache.fences", "{fence}", "Invalidations that are remembered exactly.")
	holds := gauge("cache.holds", "{hold}", "Holds that are kept.")
	return func(ob metric.Observer) {
		s := t.fences.Stats()
		ob.ObserveInt64(forgotten, s.Forgotten)
		ob.ObserveInt64(widened, s.HoldsWidened)
		ob.ObserveInt64(fences, s.Keys, with(nil, "kind", "key"))
		ob.ObserveInt64(fences, s.Prefixes, with(nil, "kind", "prefix"))
		ob.ObserveInt64(fences, s.Tags, with(nil, "kind", "tag"))
		ob.ObserveInt64(holds, s.Holds)
	}
}

func ageMillis(s invalidate.FollowerStats) int64 {
	if s.LeaseAge < 0 {
		return -1
	}
	return s.LeaseAge.Milliseconds()
}
