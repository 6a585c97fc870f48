package tiertest

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/tier"
)

// localEnds checks the rules of [tier.Expirer], each in a bubble with a tier of its own. So a
// goroutine or timer of the tier that does not end with Close fails the test.
func localEnds(newLocal func(t *testing.T) tier.Local) func(t *testing.T, l tier.Local) {
	return func(t *testing.T, l tier.Local) {
		t.Helper()
		if _, ok := l.(tier.Expirer); !ok {
			t.Skip("the tier is not a tier.Expirer")
		}
		for _, tc := range []struct {
			name string
			test func(t *testing.T, w *ending)
		}{
			{"an ended entry leaves within a minute", endedLeaves},
			{"no entry leaves before its end", endedStays},
			{"an end that moves counts", endMoves},
			{"an end that moves while the tier is idle counts", endMovesAgain},
			{"ended entries make room first", endedMakeRoom},
		} {
			t.Run(tc.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &ending{l: newLocal(t), begun: time.Now()}
					w.led = localtest.Listen(w.l)
					w.l.(tier.Expirer).ExpireBy(w.now, func(e tier.Entry) int64 { return e.(*mortal).end.Load() })
					tc.test(t, w)
					closeLocal(t, w.l)
				})
			})
		}
	}
}

// mortal is an entry with an end.
type mortal struct {
	localtest.Entry
	end atomic.Int64 // on the clock of ending
}

// ending is a tier and the clock of its entries.
type ending struct {
	l     tier.Local
	led   *localtest.Ledger // may be nil
	begun time.Time
}

func (w *ending) now() int64 { return int64(time.Since(w.begun)) }

const forever = time.Duration(1<<63 - 1)

// set sets entries with numbers from first on. Each costs 1 KiB and ends after ttl.
func (w *ending) set(first, n int, ttl time.Duration) []*mortal {
	all := make([]*mortal, n)
	for i := range all {
		all[i] = &mortal{Entry: localtest.Entry{Hash: hashOf(first + i)}}
		if all[i].end.Store(int64(forever)); ttl != forever {
			all[i].end.Store(w.now() + int64(ttl))
		}
		w.l.Set(all[i].Hash, all[i], 1<<10)
	}
	return all
}

// held returns how many of the entries the tier holds. Each of the others must have been reported
// once, with the reason.
func (w *ending) held(t *testing.T, all []*mortal, reason tier.EvictReason) (n int) {
	t.Helper()
	for _, e := range all {
		if got, ok := w.l.Get(e.Hash); ok && got == any(e) {
			n++
		} else if w.led != nil && reason != 0 {
			if got := w.led.Of(&e.Entry); len(got) != 1 || got[0] != (localtest.Departure{Reason: reason, Cost: 1 << 10}) {
				t.Fatalf("an entry of 1 KiB that left was reported as %v, want once as %v", got, reason)
			}
		}
	}
	return n
}

func (w *ending) want(t *testing.T, what string, all []*mortal, n int) {
	t.Helper()
	if got := w.held(t, all, tier.Expired); got != n {
		t.Errorf("%d of %d entries that %s are there, want %d", got, len(all), what, n)
	}
}

func endedLeaves(t *testing.T, w *ending) {
	soon, later, always := w.set(0, 100, 10*time.Second), w.set(100, 100, time.Hour), w.set(200, 100, forever)
	time.Sleep(9 * time.Second)
	w.want(t, "end in a second", soon, 100)
	time.Sleep(61 * time.Second)
	w.want(t, "ended a minute ago", soon, 0)
	w.want(t, "end in an hour", later, 100)
	again := w.set(0, 100, 20*time.Second)
	time.Sleep(time.Hour)
	w.want(t, "entered after others had left", again, 0)
	w.want(t, "ended within the hour", later, 0)
	w.want(t, "never end", always, 100)
	more := w.set(300, 100, time.Second) // while no other entry has an end
	time.Sleep(61 * time.Second)
	w.want(t, "entered when no other had an end", more, 0)
}

func endedStays(t *testing.T, w *ending) {
	var all []*mortal
	for i := range 100 {
		all = append(all, w.set(i, 1, 30*time.Second+time.Duration(i)*time.Second)...)
	}
	time.Sleep(29*time.Second + time.Second/2)
	for len(all) > 0 {
		w.want(t, "have not ended", all, len(all))
		time.Sleep(time.Second)
		all = all[1:]
	}
}

func endMoves(t *testing.T, w *ending) {
	all := w.set(0, 200, 20*time.Second)
	time.Sleep(10 * time.Second)
	for _, e := range all[:100] {
		e.end.Store(int64(3 * time.Minute))
	}
	time.Sleep(70 * time.Second)
	w.want(t, "end later than they did", all[:100], 100)
	w.want(t, "ended when they should", all[100:], 0)
	time.Sleep(3 * time.Minute)
	w.want(t, "have ended later", all[:100], 0)
}

func endMovesAgain(t *testing.T, w *ending) {
	all := w.set(0, 200, 24*time.Hour)
	time.Sleep(time.Hour)
	for _, e := range all[:100] {
		e.end.Store(w.now())
	}
	time.Sleep(61 * time.Second)
	w.want(t, "have ended early", all[:100], 0)
	w.want(t, "have not ended", all[100:], 100)
}

// endedMakeRoom fills 0.6 of the tier with entries that last and others that end, and sets new ones a
// second after that end. The tier may have an overhead of a quarter for each entry.
func endedMakeRoom(t *testing.T, w *ending) {
	const part, old, fresh = 256, 350, 450
	last := w.set(0, part, time.Hour)
	ended := w.set(1000, old, time.Second)
	if before := w.held(t, last, 0) + w.held(t, ended, 0); before < part+old {
		t.Fatalf("%d of %d entries that fit are there", before, part+old)
	}
	time.Sleep(2 * time.Second)
	w.set(2000, fresh, time.Hour)
	if got := w.held(t, last, 0); got < part*19/20 {
		t.Errorf("%d of %d entries stayed while there was room for new ones in place of ended ones, want nearly all", got, part)
	}
}
