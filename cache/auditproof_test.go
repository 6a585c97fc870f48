package cache_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// A cell stays although its removal was answered. A process that reads the record of the log refuses
// the cell. If the log no longer has the record, a new process serves the cell, and only an audit
// finds that. The controls do not lose the removal, or not the record.
func TestAuditFindsLostRemoval(t *testing.T) {
	const serves = "; b restarts; b gets old remote; wait 5200ms; b audits Stale=1; b gets new"
	const refuses = "; b restarts; b gets new load; wait 5200ms; b audits; b gets new"
	for name, then := range map[string]string{
		"lost": "; cell returns; a deletes key=2; log trims" + serves, "removed": "; a deletes key=2; log trims" + refuses, "recorded": "; cell returns; a deletes key=2" + refuses,
	} {
		var found []cache.StaleHit
		tc := cache.TiersConfig{OnStale: func(s cache.StaleHit) { found = append(found, s) }}
		play(t, scene{name: name, on: logged, tc: tc, cfg: thingConfig{Policy: auditAll}, steps: "source is=old; a gets old; cell noted; source is=new; a deletes" + then})
		if name == "lost" && (len(found) != 1 || found[0].Source != cache.Remote || !found[0].Healed) || name != "lost" && len(found) > 0 {
			t.Errorf("%s: OnStale got %+v, want a remote hit that is healed if the removal is lost", name, found)
		}
	}
}

// An audit takes one of MaxAudits tokens, of which there are as many again in each second. The hits beyond
// them are skipped, whatever the traffic.
func TestMaxAudits(t *testing.T) {
	play(t, scene{on: logged, cfg: thingConfig{Policy: auditAll}, steps: "source is=old; a gets old" +
		strings.Repeat("; go 100 a gets old; wait 100ms", 200) + "; wait 5200ms; a audits Same=209 Skipped=19791; loads 210"})
}

// A source that hangs holds MaxAudits goroutines and turns. It costs no caller anything, and Close
// ends at its bound.
func TestHangingAudits(t *testing.T) {
	play(t, scene{on: logged, cfg: thingConfig{Policy: auditAll}, steps: "a gets any; source takes=1h; source deaf" +
		strings.Repeat("; a gets any; took 0s; wait 100ms", 600) + "; running 10; peak 10; a audits Skipped=570; a closes late; took 2s"})
}

// Close ends the audits that wait, and those whose load heeds its context, at once.
func TestCloseEndsAudits(t *testing.T) {
	for name, steps := range map[string]string{
		"before its load": "wait 50ms; loads 1", "loading": "source takes=1h; wait 1s; running 1", "between its loads": "wait 1s; loads 2; running 0",
	} {
		play(t, scene{name: name, cfg: thingConfig{Policy: auditAll}, steps: "a gets any; a gets any; " + steps + "; a closes; took 0s"})
	}
}

// An audit takes a free turn among MaxLoads, and never waits for one.
func TestAuditTakesNoTurnFromLoads(t *testing.T) {
	play(t, scene{on: logged, tc: cache.TiersConfig{MaxLoads: 1}, cfg: thingConfig{Policy: auditAll}, steps: `
		a gets any; a gets any; source takes=20s; go a gets any key=2; wait 5s; a audits Skipped=1`})
}

// The order of an audit's steps against a write and its invalidation: every order of the four, in
// steps of half a second. An invalidation within the bound of its write is never called stale,
// whichever process makes it. A write that is seen by the first load and never invalidated always is.
func TestAuditInterleavings(t *testing.T) {
	const step = 500 * time.Millisecond
	const never = -1
	checked := map[string]int{}
	for write := -2; write <= 9; write++ { // relative to the hit
		for _, delay := range []int{never, 0, 1, 2, 3, 4} { // from the write to its invalidation
			for _, took := range []int{0, 1, 3} { // by a load
				for _, by := range []int{0, 1} { // the process that invalidates
					synctest.Test(t, func(t *testing.T) {
						w := newAudited(t, cache.TiersConfig{}, thingConfig{})
						get(t, w.c[0], 1)
						w.src.takes(time.Duration(took) * step) // a load reads first, and answers later
						at := func(n int, do func()) {
							go func() {
								<-time.After(time.Duration(n)*step + time.Millisecond) // no two events at one instant
								do()
							}()
						}
						begin := min(write, 0)
						at(write-begin, func() { w.src.write(1, "new") })
						if delay != never {
							at(write-begin+delay, func() { _ = w.c[by].Delete(context.WithoutCancel(t.Context()), 1) })
						}
						advance(time.Duration(-begin) * step)
						r, err := w.c[0].Fetch(t.Context(), 1, nil)
						advance(30 * time.Second)
						n := w.tiers[0].Stats().Audits
						what := fmt.Sprintf("write at %d, invalidated %d later by process %d, loads of %d: a hit of %q (%v) %v: %+v", write, delay, by, took, r.Value, r.Source, err, n)
						hit := r.Source == cache.Local && r.Value == "old"
						seen := time.Duration(write)*step+time.Millisecond < bound+100*time.Millisecond
						switch {
						case delay != never && n.Stale > 0:
							t.Error("a false alarm:", what)
						case delay == never && hit && seen && n.Stale != 1:
							t.Error("not found:", what)
						case delay == never && hit && !seen && n != (cache.Audits{Same: 1}):
							t.Error("a write after the audit's load:", what)
						}
						checked[fmt.Sprintf("%+v", n)]++
					})
				}
			}
		}
	}
	for _, want := range []cache.Audits{{Same: 1}, {Ended: 1}, {Stale: 1}} {
		if checked[fmt.Sprintf("%+v", want)] == 0 {
			t.Errorf("no order had the outcome %+v: %v", want, checked)
		}
	}
}

// A reader that reads the same keys in the same order, for ever and with one goroutine. The sample
// has each key about equally often, whatever the number of keys and the period of the sample have in
// common. With n keys it has n·each of them.
func TestAuditSamplesACycle(t *testing.T) {
	const each = 12
	for _, every := range []int{2, 64, 1024} {
		for _, n := range []int{1, 2, 7, 64, 96, 256, 610, 987, 1000, 1024, 1536, 2048} {
			if n*every > 1<<18 {
				continue // it takes too long
			}
			bubble(t, fmt.Sprintf("%d keys, one hit in %d", n, every), func(t *testing.T) {
				counts := make([]atomic.Int64, n)
				c := with(t, open(t, cache.TiersConfig{MaxAudits: 1 << 20, MaxLoads: 1 << 20}), thingConfig{
					Policy: patch{Audit: new(1 / float64(every)), TTL: new(time.Hour)},
					Load: func(ctx context.Context, k int) (string, error) {
						if cache.Filling(ctx).Auditing() {
							counts[k].Add(1)
						}
						return "v", nil
					},
				})
				onOneStack(1, func() { // then the sample is always the same
					for range 1 + each*every { // the first ones are loads
						for k := range n {
							get(t, c, k)
						}
					}
				})
				advance(time.Minute)
				sum, missing, most := 0, 0, 0
				for i := range counts {
					c := int(counts[i].Load())
					sum, most = sum+c, max(most, c)
					if c == 0 {
						missing++
					}
				}
				// By chance, a key is missing with a probability of 6e-6, and has over 4 times
				// its share with one of 1e-13.
				if missing > 1 || most > 4*each || sum < n*each-2-n/16 || sum > n*each+2+n/16 {
					t.Errorf("%d audits of %d keys, want %d; %d keys had none, and one had %d", sum, n, n*each, missing, most)
				}
			})
		}
	}
}

// The interval contains the true share, also where the plain ratio would be certain.
func TestFreshInterval(t *testing.T) {
	for _, tt := range []struct {
		a         cache.Audits
		low, high float64
	}{
		{cache.Audits{}, 0, 1},
		{cache.Audits{Ended: 5, Failed: 5, Skipped: 5}, 0, 1},
		{cache.Audits{Same: 99_999, Stale: 1}, 0.9999433, 0.9999982},
		{cache.Audits{Same: 100}, 0.9630, 1},
		{cache.Audits{Same: 50, Stale: 50}, 0.4038, 0.5962}, // the example of Brown, Cai and DasGupta, 2001
		{cache.Audits{Stale: 10}, 0, 0.2775},
	} {
		low, high := tt.a.Fresh()
		if diff := max(low-tt.low, tt.low-low, high-tt.high, tt.high-high); diff > 0.0001 {
			t.Errorf("%+v: between %v and %v, want %v and %v", tt.a, low, high, tt.low, tt.high)
		}
	}
}
