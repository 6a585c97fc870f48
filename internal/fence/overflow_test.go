package fence_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/race"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/invalidate"
)

// everRemembered is the maximum number of fences of a kind that are remembered.
const everRemembered = 1 << 19

// checked calls ClearExact as the cache does: from then on, a clear entry is compared only with later
// fences.
func checked(e *fencetest.Entry, f *fence.Fences) bool {
	tick, fresh, ok := f.ClearExact(e.Born, uint32(e.Hash), e, e.Tags)
	e.Note(fresh)
	if ok {
		e.Born = tick
	}
	return ok
}

func otherKeys(tb testing.TB, f *fence.Fences, n int) {
	for i := range n {
		f.Fence(invalidate.Key(fencetest.KeyOf(tb, fmt.Sprint("acme:others:", i))))
	}
}

func otherTags(f *fence.Fences, n int) {
	for i := range n {
		f.Fence(invalidate.Tag("acme", fmt.Sprint("other", i)))
	}
}

// More key fences than are remembered: a fenced entry stays dead, and an entry that is marked later
// is clear.
func TestKeysOverflow(t *testing.T) {
	f := fence.New(start)
	victim := fencetest.KeyOf(t, "acme:users:victim")
	dead := fencetest.New(f, victim.String())
	f.Fence(invalidate.Key(victim))
	otherKeys(t, f, everRemembered+1)
	if dead.Clear(f) || !fencetest.Overtaken(f, dead.Mark, dead.Hash, dead.Key, nil) {
		t.Error("an entry outlived a fence that was forgotten")
	}
	if n := f.Stats().Forgotten; n != 2 {
		t.Errorf("Forgotten = %d, want 2: an entry and a load", n)
	}
	fencetest.Check(t, f, fencetest.New(f, victim.String()), true)
}

// More tags than are remembered: an entry that is not checked meanwhile is lost if and only if it
// has tags.
func TestTagsOverflow(t *testing.T) {
	f := fence.New(start)
	fenced, tagged, plain := fencetest.New(f, "acme:users:1", "t"), fencetest.New(f, "acme:users:1", "mine"), fencetest.New(f, "acme:users:2")
	f.Fence(invalidate.Tag("acme", "t"))
	otherTags(f, everRemembered+1)
	fencetest.Check(t, f, plain, true)
	fencetest.Check(t, f, fenced, false)
	fencetest.Check(t, f, tagged, false) // it is no longer known whether its tag was fenced
	e := fencetest.New(f, "acme:users:1", "t")
	fencetest.Check(t, f, e, true)
	f.Fence(invalidate.Tag("acme", "t"))
	fencetest.Check(t, f, e, false)
	fencetest.Check(t, f, plain, true)
}

// A frame does not outlive a forgotten fence, just as an entry does not.
func TestFramesOverflow(t *testing.T) {
	const k = "acme:users:1"
	accepts := func(f *fence.Fences, m fence.Mark, tag string) bool {
		return fencetest.Accepts(f, m, xxhash.Sum64String(k), k, &fence.Deps{Tags: []uint64{invalidate.Tag("acme", tag).Hash()}})
	}
	for name, other := range map[string]func(i int) invalidate.Scope{
		"prefixes": func(i int) invalidate.Scope { return invalidate.Prefix("acme", fmt.Sprint("others:", i)) },
		"tags":     func(i int) invalidate.Scope { return invalidate.Tag("acme", fmt.Sprint("other", i)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := fence.NewSmall(64)
			old := f.Capture()
			f.Fence(invalidate.Prefix("acme", "users:"), invalidate.Tag("acme", "t"))
			fresh := f.Capture()
			for i := range 10 * 64 {
				f.Fence(other(i))
				if accepts(f, old, "t") {
					t.Fatalf("after %d others a frame from before the fence is accepted", i)
				}
			}
			if accepts(f, fresh, "t") || !accepts(f, f.Capture(), "t") {
				t.Error("want the frame that cannot be checked refused, and the new one accepted")
			}
		})
	}
}

// A flush without a position kills the entries of this process. Frames are still checked by their
// positions.
func TestFlushKeepsPositions(t *testing.T) {
	f := fence.New(start)
	old := fencetest.New(f, "acme:users:1", "t")
	f.Fence(invalidate.Tag("acme", "t"), invalidate.Prefix("acme", "teams:"))
	fresh := fencetest.New(f, "acme:users:1", "t")
	f.Store(invalidate.Fence{Scope: invalidate.All()}, 0)
	if fresh.Clear(f) {
		t.Error("an entry outlived the flush")
	}
	if fencetest.Accepts(f, old.Mark, old.Hash, old.Key, old.Tags) {
		t.Error("a frame that is older than the tag's fence is accepted")
	}
	if !fencetest.Accepts(f, fresh.Mark, fresh.Hash, fresh.Key, fresh.Tags) {
		t.Error("a frame that is newer than every position is refused")
	}
}

// An entry that is checked in time survives when fences that do not cover it are forgotten. It does
// not outlive a fence that covers it.
func TestSettled(t *testing.T) {
	f := fence.New(start)
	var all []*fencetest.Entry
	for i := range 1000 {
		all = append(all, fencetest.New(f, fmt.Sprint("acme:users:", i), fmt.Sprint("user", i)))
	}
	walks := 0
	f.OnForget(func() {
		walks++
		tick := f.Tick()
		for _, e := range all {
			checked(e, f)
		}
		f.Settled(tick)
	})
	f.Fence(invalidate.Key(fencetest.KeyOf(t, "acme:users:1")), invalidate.Tag("acme", "user2"))
	otherKeys(t, f, 2*everRemembered)
	otherTags(f, 2*everRemembered)
	for i, e := range all {
		if got, want := e.Clear(f), i != 1 && i != 2; got != want {
			t.Errorf("Clear(%s) = %v, want %v", e.Key, got, want)
		}
	}
	if s := f.Stats(); s.Keys > everRemembered/2 || s.Tags > everRemembered/2 || walks > 2*2*everRemembered>>17+2 {
		t.Errorf("after %d walks %d keys and %d tags are remembered", walks, s.Keys, s.Tags)
	}
}

// A key fence is remembered at least as long as a block lasts.
func TestKeysAreRemembered(t *testing.T) {
	f := fence.New(start)
	const victim = "acme:users:victim"
	before := f.Capture()
	f.Fence(invalidate.Key(fencetest.KeyOf(t, victim)))
	otherKeys(t, f, 1<<17)
	if fencetest.Accepts(f, before, xxhash.Sum64String(victim), victim, nil) {
		t.Error("a frame from before the fence is accepted")
	}
}

// An endless stream of fences takes constant memory.
func TestFencesMemory(t *testing.T) {
	f := fence.New(start)
	f.OnForget(func() { f.Settled(f.Tick()) })
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	n := 12_000_000 // ten minutes at 20,000 a second
	if race.Enabled || testing.Short() {
		n /= 10
	}
	start, peak := heap(), uint64(0)
	for i := range n {
		if i%2 == 0 {
			f.Fence(invalidate.Tag("acme", fmt.Sprint(i)))
		} else {
			f.Fence(invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("acme:users:", i))))
		}
		if i%(n/20) == 0 {
			peak = max(peak, heap())
		}
	}
	s := f.Stats()
	if got := int64(peak) - int64(start); got > 32<<20 || s.Tags+s.Keys > everRemembered {
		t.Errorf("%d fences took %d KiB at most, and %d are remembered", n, got>>10, s.Tags+s.Keys)
	} else {
		t.Logf("%d fences took %d KiB at most", n, got>>10)
	}
}
