package cache_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// Stats and the instruments report the same about the log.
func TestLogInstruments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
		link := logtest.NewFaulty(log)
		w := watch(t, cache.TiersConfig{Log: link})
		other := open(t, cache.TiersConfig{Log: log})
		synctest.Wait()
		tell := func(tiers *cache.Tiers) error {
			return tiers.Invalidate(t.Context(), invalidate.Tag("default", "x"))
		}
		must(t, tell(other))
		advance(10 * time.Millisecond)
		link.Fail(errors.New("down"))
		for range 5 {
			must(t, tell(other))
		}
		log.Trim(1)
		if err := tell(w.Tiers); err == nil {
			t.Error("Invalidate returned nil while the log was unreachable")
		}
		advance(bound + time.Second)
		away := w.numbers(t)
		for name, want := range map[string]int64{
			"cache.log.lapse{}": 1, "cache.log.gap{}": 0, "cache.pending{}": 1,
			"cache.log.bump{}": 1, "cache.invalidate.lag{}": 1,
		} {
			if got := away[name]; got != want {
				t.Errorf("while the log is unreachable, %s = %d, want %d", name, got, want)
			}
		}
		if age := away["cache.lease.age{}"]; age < bound.Milliseconds() {
			t.Errorf("the lease is %d ms old, want at least %d", age, bound.Milliseconds())
		}
		if age := away["cache.pending.age{}"]; age != (bound + 1250*time.Millisecond).Milliseconds() {
			t.Errorf("the pending invalidation is %d ms old, want InvalidateWait and a second more than %v", age, bound)
		}
		if away["cache.log.error{op=sync}"] == 0 || away["cache.log.error{op=tail}"] == 0 {
			t.Error("failed calls are not counted")
		}
		link.Heal()
		advance(bound)
		back, s := w.numbers(t), w.Stats().Log
		for name, want := range map[string]int64{
			"cache.log.lapse{}": s.Lapses, "cache.log.gap{}": s.Gaps, "cache.log.bump{}": s.Bumps, "cache.pending{}": s.Pending,
			"cache.log.error{op=sync}": s.SyncErrors, "cache.log.error{op=tail}": s.TailErrors,
			"cache.lease.age{}": s.LeaseAge.Milliseconds(), "cache.pending.age{}": 0,
		} {
			if back[name] != want {
				t.Errorf("%s = %d, but Stats has %d", name, back[name], want)
			}
		}
		if s.Gaps == 0 || s.Pending != 0 || s.LeaseAge > bound/2 {
			t.Errorf("Stats = %+v, want a gap, nothing pending and a young lease", s)
		}
	})
}
