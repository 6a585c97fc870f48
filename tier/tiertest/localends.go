package tiertest

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/localtest"
	"github.com/twofold-go/twofold/internal/testkit/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// localEnds checks the rules for entries that end, each in a bubble with a tier of its own. So a
// goroutine or timer of the tier that does not end with Close fails the test.
func localEnds(t *localTest) {
	another := t.another
	suitetest.InBubble(t.T, []suitetest.Case[*ending]{
		{"an ended entry leaves within a minute", endedLeaves},
		{"no entry leaves before its end", endedStays},
		{"an end that moves counts", endMoves},
		{"an end that moves while the tier is idle counts", endMovesAgain},
		{"ended entries make room first", endedMakeRoom},
		{"each entry is reported once, however it leaves", leavesOnce},
	}, func(t *testing.T) *ending {
		w := &ending{localTest: localTest{T: t, l: another(t)}, begun: time.Now()}
		t.Cleanup(w.close)
		w.led = localtest.ListenTo(w.l, w.now, func(e any) int64 { return e.(*mortal).end.Load() })
		return w
	})
}

// mortal is an entry with an end.
type mortal struct {
	localtest.Entry
	end atomic.Int64 // on the clock of ending
}

// ending is a tier and the clock of its entries.
type ending struct {
	localTest

	led   *localtest.Ledger
	begun time.Time
}

func (w *ending) now() int64 { return int64(time.Since(w.begun)) }

const forever = time.Duration(1<<63 - 1)

// setAll sets entries with numbers from first on. Each costs 1 KiB and ends after ttl.
func (w *ending) setAll(first, n int, ttl time.Duration) []*mortal {
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
func (w *ending) held(all []*mortal, reason tier.EvictReason) (n int) {
	w.Helper()
	for _, e := range all {
		if got, ok := w.l.Get(e.Hash); ok && got == any(e) {
			n++
		} else if reason != 0 {
			if got := w.led.Of(&e.Entry); len(got) != 1 || got[0] != (localtest.Departure{Reason: reason, Cost: 1 << 10}) {
				w.Fatalf("an entry of 1 KiB that left was reported as %v, want once as %v", got, reason)
			}
		}
	}
	return n
}

func (w *ending) want(what string, all []*mortal, n int) {
	w.Helper()
	if got := w.held(all, tier.Expired); got != n {
		w.Errorf("%d of %d entries that %s are there, want %d", got, len(all), what, n)
	}
}

func endedLeaves(w *ending) {
	soon, later, always := w.setAll(0, 100, 10*time.Second), w.setAll(100, 100, time.Hour), w.setAll(200, 100, forever)
	time.Sleep(9 * time.Second)
	w.want("end in a second", soon, 100)
	time.Sleep(61 * time.Second)
	w.want("ended a minute ago", soon, 0)
	w.want("end in an hour", later, 100)
	again := w.setAll(0, 100, 20*time.Second)
	time.Sleep(time.Hour)
	w.want("entered after others had left", again, 0)
	w.want("ended within the hour", later, 0)
	w.want("never end", always, 100)
	more := w.setAll(300, 100, time.Second) // while no other entry has an end
	time.Sleep(61 * time.Second)
	w.want("entered when no other had an end", more, 0)
}

func endedStays(w *ending) {
	var all []*mortal
	for i := range 100 {
		all = append(all, w.setAll(i, 1, 30*time.Second+time.Duration(i)*time.Second)...)
	}
	time.Sleep(29*time.Second + time.Second/2)
	for len(all) > 0 {
		w.want("have not ended", all, len(all))
		time.Sleep(time.Second)
		all = all[1:]
	}
}

func endMoves(w *ending) {
	all := w.setAll(0, 200, 20*time.Second)
	time.Sleep(10 * time.Second)
	for _, e := range all[:100] {
		e.end.Store(int64(3 * time.Minute))
	}
	time.Sleep(70 * time.Second)
	w.want("end later than they did", all[:100], 100)
	w.want("ended when they should", all[100:], 0)
	time.Sleep(3 * time.Minute)
	w.want("have ended later", all[:100], 0)
}

func endMovesAgain(w *ending) {
	all := w.setAll(0, 200, 24*time.Hour)
	time.Sleep(time.Hour)
	for _, e := range all[:100] {
		e.end.Store(w.now())
	}
	time.Sleep(61 * time.Second)
	w.want("have ended early", all[:100], 0)
	w.want("have not ended", all[100:], 100)
}

// endedMakeRoom fills 0.6 of the tier with entries that last and others that end, and sets new ones a
// second after that end. The tier may have an overhead of a quarter for each entry.
func endedMakeRoom(w *ending) {
	const part, old, fresh = 256, 350, 450
	last := w.setAll(0, part, time.Hour)
	ended := w.setAll(1000, old, time.Second)
	if before := w.held(last, 0) + w.held(ended, 0); before < part+old {
		w.Fatalf("%d of %d entries that fit are there", before, part+old)
	}
	time.Sleep(2 * time.Second)
	w.setAll(2000, fresh, time.Hour)
	if got := w.held(last, 0); got < part*19/20 {
		w.Errorf("%d of %d entries stayed while there was room for new ones in place of ended ones, want nearly all", got, part)
	}
}

// leavesOnce has goroutines set, replace, delete and refuse entries that end, and closes the tier
// meanwhile. Each entry must be reported exactly once. One that Set does not keep is rejected, or the
// tier was closed.
func leavesOnce(w *ending) {
	const hashes, rounds, pauses = 300, 200, 20
	var wg sync.WaitGroup
	var all [4][]*localtest.Entry
	for g := range all {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for range pauses {
				time.Sleep(time.Second)
				for range rounds {
					e := &mortal{Entry: localtest.Entry{Hash: hashOf(r.IntN(hashes)), Seq: len(all[g])}}
					e.end.Store(w.now() + r.Int64N(int64(20*time.Second)))
					cost := r.Int64N(LocalBudget / 100)
					if r.IntN(50) == 0 {
						cost = oversize
					}
					all[g] = append(all[g], &e.Entry)
					if !w.l.Set(e.Hash, e, cost) {
						w.refused(&e.Entry, cost)
					}
					if r.IntN(3) == 0 {
						w.l.Delete(hashOf(r.IntN(hashes)))
					}
				}
			}
		})
	}
	time.Sleep(15 * time.Second)
	w.close()
	if s := w.l.Stats(); s.Entries != 0 {
		w.Errorf("Stats() after Close has %d entries, want 0", s.Entries)
	}
	wg.Wait()
	w.led.Closed(w.T, slices.Concat(all[:]...))
}

// refused checks the report of an entry when its Set has returned false.
func (w *ending) refused(e *localtest.Entry, cost int64) {
	got := w.led.Of(e)
	if len(got) != 1 || got[0].Cost != cost || got[0].Reason != tier.Rejected && got[0].Reason != tier.Closed {
		w.Errorf("an entry that Set refused was reported as %v, want once as rejected or closed, with cost %d", got, cost)
	}
}
