package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

const bound = 2 * time.Second

// After one process invalidates a value by any scope, the other refuses it from either tier, as
// soon as the record has arrived.
func TestInvalidationReachesOthers(t *testing.T) {
	play(t, scene{on: logged, steps: `
		a gets 1.1; b gets 1.1; a invalidates SCOPE; a gets 1.2; wait 5ms; b gets 1.2; loads 2`})
}

// A process that is cut off from the log serves its cached values until its lease runs out, and
// no longer. After that it keeps its loads to itself, and serves them for a bound.
func TestLeaseRunsOut(t *testing.T) {
	play(t, scene{on: logged, steps: `
		b gets 1.1; a gets 1.1; wait 6s; b gets 1.1; b's log fails; a invalidates key; b gets 1.1; wait 2s; b gets 1.2 load; b gets 1.2
		wait 2s; b gets 1.3; b counts Lapses=1 Fills.Stored=1; b's log well; wait 2s; a gets 1.4; b gets 1.4`})
}

// While the log is unreachable, an invalidation applies in this process, is reported as pending,
// and is sent when the log is back.
func TestPendingInvalidation(t *testing.T) {
	play(t, scene{on: logged, steps: `
		a gets 1.1; b gets 1.1; a's log fails; a deletes pending; a gets 1.2; a counts Pending=1
		a's log well; wait 2s; b gets 1.3; a counts Pending=0`})
}

// When Settle returns, no process can serve a value that was invalidated before, by whichever call. It
// takes one bound.
func TestSettleAfterEachCall(t *testing.T) {
	for _, write := range outdating {
		play(t, scene{name: write, on: logged, steps: `
			b gets 1.1; wait 2s; b's log hangs; a ` + write + `; wait 1ms; b gets 1.1; a settles; took 2s-2.01s; b gets !1.1`})
	}
}

// Settle also waits for an invalidation that this process could not complete: until its record is in
// the log and its cell is removed, and from then on for one bound.
func TestSettleAfterPendingError(t *testing.T) {
	for _, write := range outdating {
		play(t, scene{name: write, on: logged, steps: `
			b gets 1.1; wait 2s; a's log fails; a ` + write + ` pending; a settles pending late down unavailable timeout=1s
			later 3s b's log hangs; later 3s a's log well; b gets 1.1; a settles; took 5s-6s; b gets !1.1; a counts Pending=0`})
	}
	play(t, scene{name: "a cell is left", on: logged, steps: `
		b gets 1.1; wait 2s; a's remote fails; a deletes pending; a settles pending late down unavailable timeout=3s
		later 3s a's remote well; a settles; took 5s-6s; cells 0; a counts Pending=0`})
}

// Settle also waits for this process. It returns the reason when it fails.
func TestSettleFails(t *testing.T) {
	play(
		t,
		scene{name: "a log", on: logged, steps: `
			wait 1s; a's log fails; a settles late down unavailable timeout=2s; a's log well; wait 2s; a settles late timeout=1s
			go a settles closed; wait 1s; a closes`},
		scene{name: "no log", steps: "a settles; took 0s"},
	)
}

// Ready waits for the log's first answer. When its context ends, it returns the reason.
func TestReady(t *testing.T) {
	play(
		t,
		scene{name: "a log", on: logged, steps: `
			a's log fails; a restarts; a readies down late timeout=2s; later 2s a's log well; a readies; took 2s-3.1s
			a closes; a readies closed`},
		scene{name: "no log", steps: "a readies; took 0s"},
	)
}

// A fleet restarts on a new log, for example on another server, and old cells survive. The new
// epochs may have lower numbers than those in the cells. A value that is invalidated now must be
// gone in every process.
func TestSurvivingCellsOfALostLog(t *testing.T) {
	for _, scope := range []string{"key", "tag", "prefix"} {
		play(t, scene{name: scope, on: logged, steps: strings.Repeat("log restarts; wait 2s; ", 5) + ` // the next log will have far lower numbers
			a gets 1.1; cell noted; a closes; b closes; log ends; a restarts; b restarts
			a invalidates ` + scope + `; a settles; cell returns // the node that held it comes back
			a gets 1.2; b gets 1.2; a counts Cells.Invalidated=1`})
	}
}

// When Settle returns, no process can still serve a value that was invalidated before the call.
// Another process may have a longer lease.
func TestSettle(t *testing.T) {
	for name, widest := range map[string]time.Duration{"one bound": bound, "a wider bound": 3 * bound} {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT})
			slow := logtest.NewFaulty(w.log.Handle(widest))
			other := with(t, open(t, cache.TiersConfig{Log: slow}), thingConfig{
				Load: w.src.load, Tags: tagT,
			})
			advance(widest)
			want := func(v string) {
				t.Helper()
				equal(t, get(t, other, 1), v, "the other process reads")
			}
			want("1.1")
			advance(widest)
			slow.Hang(true)
			w.commit(t, invalidate.Tag("default", "t"))
			want("1.1") // the other process cannot know yet
			begun := time.Now()
			must(t, w.tiers[0].Settle(t.Context()))
			if took := time.Since(begun); took < widest || took > widest+widest/1000+10*time.Millisecond {
				t.Errorf("Settle took %v, want the widest bound, %v", took, widest)
			}
			want("1.2")
		})
	}
}

// tableLog is a log that removes cells, as a log in a database does.
type tableLog struct {
	*memlog.Log
	tier   string
	remove func(context.Context, []string) error
}

func (l *tableLog) Open(h invalidate.Hooks) { l.tier, l.remove = h.Tier, h.Remove }

// A load with MaxAge(0) replaces the remote value, even if the log is slow to answer. No lease
// is as young as this call demands, but the call serves nothing that needs a lease.
func TestMaxAgeOfNothingReplaces(t *testing.T) {
	for _, call := range []string{"gets", "many"} {
		play(t, scene{name: call, on: logged, steps: `
			log slow=1ms; wait 2s; a gets 1.1; wait 10ms; a ` + call + ` 1.2 MaxAge=0s; b gets 1.2`})
	}
}

// A call with a small MaxAge needs a young lease for a value that another process loaded. A
// clock that may be wrong gives the value's age.
func TestMaxAgeNeedsAYoungLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		young := cache.MaxAge(bound / 10)
		fetch := func() cache.Result[string] {
			t.Helper()
			r, err := w.c[1].Fetch(t.Context(), 1, nil, young)
			succeeds(t, err)
			return r
		}
		advance(3 * bound)
		for w.tiers[1].Stats().Log.LeaseAge <= bound/8 { // with a younger lease the read need not contact the log
			advance(bound / 100)
		}
		w.want(t, 0, 1, "1.1")
		calls := w.link[1].Calls(logtest.Sync)
		if r := fetch(); r.Source != cache.Remote {
			t.Errorf("the value came from %v, want remote", r.Source)
		}
		equal(t, w.link[1].Calls(logtest.Sync)-calls, 1, "calls of the log")
		w.link[1].Fail(errors.New("down"))
		advance(bound / 12)
		w.want(t, 0, 2, "2.1")
		if r := fetch(); r.Source == cache.Load {
			t.Errorf("the read loaded after %v, although the value and the lease are young enough", bound/12)
		}
		advance(bound / 40)
		if r := fetch(); r.Source != cache.Load || r.Value != "1.2" {
			t.Errorf("got %q from %v, want a load", r.Value, r.Source)
		}
		if r := fetch(); r.Source != cache.Local { // this process loaded it just before
			t.Errorf("the value came from %v, want local", r.Source)
		}
	})
}

// outdating are the calls that invalidate key 1, whose tag is t, and wait for the log.
var outdating = []string{
	"sets set", "sets-many", "deletes", "deletes-many", "deletes all", "invalidates key", "invalidates tag", "expires tag",
}

// An invalidation that returned holds in its own process, whatever it returned and in any state
// of the log. No later read gets the old value, although the remote tier still has it. When the log
// has recovered, it reaches the other process.
func TestOwnReadsAfterPendingError(t *testing.T) {
	for _, write := range outdating {
		for _, state := range []string{"fails", "hangs", "slow=400ms", "well"} {
			for _, patience := range []string{"0s", "1ms", "1h"} {
				play(t, scene{name: fmt.Sprint(write, ", log ", state, ", patience ", patience), on: logged, steps: `
					b gets 1.1; a gets 1.1; a's log ` + state + `; a ` + write + ` perhaps pending timeout=` + patience +
					strings.Repeat("; a gets !1.1; a many !1.1; wait 50ms", 40) + `
					a's log well; wait 2s; a counts Pending=0; a gets !1.1; b gets !1.1`})
			}
		}
	}
}

// A writer that is cancelled while the log hangs returns at once.
func TestCancelledWriterLeavesAHungLog(t *testing.T) {
	for _, write := range outdating {
		play(t, scene{name: write, on: logged, steps: `
			a gets 1.1; b gets 1.1; a's log hangs; a ` + write + ` pending after=1ms; took 1ms-2ms; a gets !1.1
			a's log well; wait 2s; b gets !1.1`})
	}
}

// During an outage of the log a call returns a PendingError after InvalidateWait. This process
// no longer serves the invalidated value.
func TestInvalidateWait(t *testing.T) {
	for _, write := range outdating {
		for wait, want := range map[time.Duration]time.Duration{
			0: 250 * time.Millisecond, 20 * time.Millisecond: 20 * time.Millisecond, 3 * time.Second: 3 * time.Second,
		} {
			fails := fmt.Sprintf("a %s pending; took %v; a gets !1.1; wait 2s; ", write, want)
			play(t, scene{name: fmt.Sprint(write, " ", wait), on: logged, tc: cache.TiersConfig{InvalidateWait: wait}, steps: `
				a gets 1.1; a's log fails; ` + fails + fails + fails + `a's log well; wait 1s; a counts Pending=0`})
		}
	}
}

// A write that Close ends says ErrClosed, as a read does, and that it is pending.
func TestWritesEndedByClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, logged, cache.TiersConfig{InvalidateWait: time.Minute}, thingConfig{}, asIs)
		w.link[0].Hang(true)
		ended := make(chan error, 4)
		go func() { ended <- w.c[0].Set(t.Context(), 1, "set") }()
		go func() { ended <- w.c[0].Delete(t.Context(), 2) }()
		go func() { ended <- w.c[0].DeleteMany(t.Context(), []int{3, 4}) }()
		go func() { ended <- w.tiers[0].Expire(t.Context(), keyScope(t, 5)) }()
		advance(time.Second)
		_ = w.tiers[0].Close(t.Context()) // loses them
		for range cap(ended) {
			err := <-ended
			if _, pending := errors.AsType[*invalidate.PendingError](err); !pending || !errors.Is(err, cache.ErrClosed) || !errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("%v, want a PendingError that is ErrClosed", err)
			}
		}
	})
}
