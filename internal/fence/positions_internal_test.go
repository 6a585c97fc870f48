package fence

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func fences(*testing.T) (*Fences, *Namespace) {
	f := NewLogged(time.Now())
	f.applied.Store(&invalidate.Cursor{Epoch: 1})
	return f, f.Open("t", "a", &owner{of: &local{f: f, m: map[string]*thing{}}, stem: "t:a:", spells: true})
}

// A node is made while its scope is invalidated: the load is refused, or its entry hears of it.
func TestWorldOfOneTag(t *testing.T) {
	f, n := fences(t)
	r := rand.New(rand.NewPCG(1, 1))
	begun := time.Now()
	for i := 0; time.Since(begun) < 500*time.Millisecond; i++ {
		tag := invalidate.Tag("t", fmt.Sprint(i))
		m := f.Capture()
		var wg sync.WaitGroup
		wg.Go(func() { f.Store(fenceOf(tag, false), 0) })
		for range r.IntN(3000) {
			f.Tick()
		}
		nodes, _, ok := f.Hold(m, n, &Subject{1, "t:a:k", &Deps{Tags: []uint64{tag.Hash()}}})
		wg.Wait()
		if ok && !nodes[0].Since(m.Tick, m.Tick) {
			t.Fatal("an invalidation missed an entry")
		}
		f.Drop(nodes)
	}
}

// Positions do not rise: a process applies its own write before its tail has come so far.
func TestPositionsOfAScope(t *testing.T) {
	small(t)
	f, n := fences(t)
	x := invalidate.Tag("t", "x")
	var others []invalidate.Scope // of the same shard
	for i := 0; len(others) < 4; i++ {
		if s := invalidate.Tag("t", fmt.Sprint("y", i)); f.of(idOf(ofTag, s.Hash())) == f.of(idOf(ofTag, x.Hash())) {
			others = append(others, s)
		}
	}
	old := &Subject{1, "t:a:1", &Deps{Tags: []uint64{x.Hash()}}} // another process loaded it before the write
	mark := Mark{Key: 95, Scope: 95, Epoch: 1}
	f.Store(fenceOf(x, false), 100) // own write
	if _, ok := f.Accepts(mark, n, old); ok {
		t.Fatal("accepted a frame from before a write")
	}
	for _, s := range others { // the tail: x is forgotten
		f.Store(fenceOf(s, false), 80)
	}
	f.Store(fenceOf(x, false), 90) // and noted anew
	if _, ok := f.Accepts(mark, n, old); ok {
		t.Error("accepted a frame from before a write, after the tail brought an earlier record of the same tag")
	}
}

// The same with cuts: the highest position that leaves the list is not the last one's.
func TestPositionsOfCuts(t *testing.T) {
	f, n := fences(t)
	end := invalidate.Position(3 * mostCuts)
	old, mark := &Subject{1, "t:a:xy", nil}, Mark{Key: end, Scope: end - 1, Epoch: 1}
	f.Store(fenceOf(invalidate.Prefix("t", "a:x"), false), end) // own write
	if _, ok := f.Accepts(mark, n, old); ok {
		t.Fatal("accepted a frame from before a write")
	}
	for i := range 2 * mostCuts { // the tail
		f.Store(fenceOf(invalidate.Prefix("t", fmt.Sprint("a:q", i)), false), invalidate.Position(i+1))
	}
	if _, ok := f.Accepts(mark, n, old); ok {
		t.Error("accepted a frame from before a write that left the list of cuts")
	}
}

// An entry that was not read before a cut left the list may be covered by it, so it is lost.
func TestPositionsOfLostCuts(t *testing.T) {
	f, n := fences(t)
	mark := f.Tick()
	f.Store(fenceOf(invalidate.Prefix("t", "a:x"), false), 0)
	read := f.Tick()
	for i := range 2 * mostCuts {
		f.Store(fenceOf(invalidate.Prefix("t", fmt.Sprint("a:q", i)), false), 0)
	}
	for _, tt := range []struct {
		key  string
		seen uint64
		ok   bool
	}{{"t:a:xy", mark, false}, {"t:a:z", mark, false}, {"t:a:z", f.Tick() - 100, true}} {
		if _, _, ok := f.Check(n, nil, mark, tt.seen, func() string { return tt.key }); ok != tt.ok {
			t.Errorf("%s, seen at %d: Check = %t, want %t", tt.key, tt.seen, ok, tt.ok)
		}
	}
	if got := f.Stats().Forgotten; got != 2 {
		t.Errorf("%d entries are forgotten, want 2; the first cut was at %d", got, read)
	}
}

// A load whose mark counts a cut must not find a part that it covers, before the cut is in the list.
func TestPositionsOfAnAnnouncedCut(t *testing.T) {
	f, n := fences(t)
	n.announceCut("t:a:x")
	for text, want := range map[string]bool{"t:a:xy": false, "t:a:z": true} {
		if _, _, ok := f.Check(n, nil, f.Tick(), f.Tick(), func() string { return text }); ok != want {
			t.Errorf("Check(%s) = %t, want %t", text, ok, want)
		}
	}
}

// A frame is older than the last invalidation of its own key, as long as that is remembered: the cell may have been
// read before it was removed.
func TestPositionsOfAFrame(t *testing.T) {
	f, n := fences(t)
	k := invalidate.Key(parse(t, "t:a:1"))
	s := &Subject{Hash: k.Hash(), Key: k.Text()}
	f.Store(fenceOf(k, false), 10)
	for pos, want := range map[invalidate.Position]bool{9: false, 10: true} {
		if _, ok := f.Accepts(Mark{Key: pos, Scope: 100, Epoch: 1}, n, s); ok != want {
			t.Errorf("a frame as of %d: accepted %t, want %t", pos, ok, want)
		}
	}
}

// watch is an owner that looks at the tick while an entry is ended.
type watch struct {
	f  *Fences
	at []uint64
}

func (w *watch) EndKey(string, int64) { w.at = append(w.at, w.f.Tick()) }
func (w *watch) Spells() bool         { return true }

// The entry of a key is ended before the tick is taken: a load whose mark counts the invalidation must not find
// the entry and build from it. The name of a namespace may have colons.
func TestPositionsOfAKey(t *testing.T) {
	f := NewLogged(time.Now())
	w := &watch{f: f}
	a, b := f.Open("t", "a", w), f.Open("t", "a:b", w)
	for _, isSoft := range []bool{false, true} {
		w.at = nil
		before := f.Tick()
		f.Store(fenceOf(invalidate.Key(parse(t, "t:a:b:1")), isSoft), 1)
		if len(w.at) != 1 || w.at[0] != before || f.Tick() != before+1 {
			t.Errorf("soft %t: ended at the ticks %d, want once at %d; now it is %d", isSoft, w.at, before, f.Tick())
		}
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
}

// A namespace opens, and a load is stored in it, after the record of a key has looked its namespace up and before
// the record is applied.
func TestPositionsOfANamespaceThatOpens(t *testing.T) {
	f := NewLogged(time.Now())
	w := &watch{f: f}
	stems := map[*shard]bool{} // Open looks into these
	for _, stem := range []string{"t:", "t:a:"} {
		stems[f.of(idOf(ofStem, Stem(stem)))] = true
	}
	var k invalidate.Scope
	for i := 0; k == (invalidate.Scope{}) || stems[f.of(idOf(ofKey, k.Hash()))]; i++ {
		k = invalidate.Key(parse(t, fmt.Sprint("t:a:", i)))
	}
	s := f.of(idOf(ofKey, k.Hash()))
	s.mu.Lock()
	var wg sync.WaitGroup
	wg.Go(func() { f.Store(fenceOf(k, false), 1) })
	rest(20 * time.Millisecond) // until it waits for the lock; if it does not yet, it finds the namespace at once
	n := f.Open("t", "a", w)
	s.mu.Unlock()
	wg.Wait()
	if len(w.at) != 1 {
		t.Errorf("the entry was ended %d times, want once", len(w.at))
	}
	runtime.KeepAlive(n)
}

// A namespace that nothing holds is forgotten, and one that opens later knows what was invalidated before.
func TestWorldOfNamespaces(t *testing.T) {
	f := NewLogged(time.Now())
	f.applied.Store(&invalidate.Cursor{Epoch: 1})
	pos := invalidate.Position(0)
	for _, s := range []invalidate.Scope{invalidate.Prefix("t", "a:"), invalidate.Prefix("t", "a:x"), invalidate.Tenant("t"), invalidate.All()} {
		for _, isSoft := range []bool{false, true} {
			mark := f.Capture()
			func() { runtime.KeepAlive(f.Open("t", "a", &watch{f: f})) }()
			for range 100 {
				runtime.GC()
				f.mu.RLock()
				left := len(f.open)
				f.mu.RUnlock()
				if left == 0 {
					break
				}
				rest(time.Millisecond)
			}
			f.mu.RLock()
			if len(f.open) != 0 {
				t.Error("a namespace that nothing holds is kept")
			}
			f.mu.RUnlock()
			pos++
			f.Store(fenceOf(s, isSoft), pos)
			n, k := f.Open("t", "a", &watch{f: f}), &Subject{Hash: 1, Key: "t:a:xy"}
			fresh, over := f.Overtaken(mark, n, k)
			if over == isSoft || isSoft && fresh == Forever {
				t.Errorf("%v, soft %t: a load from before is overtaken %t, fresh until %d", s, isSoft, over, fresh)
			}
			if fresh, ok := f.Accepts(mark, n, k); ok != isSoft || isSoft && fresh == Forever {
				t.Errorf("%v, soft %t: a frame from before is accepted %t, fresh until %d", s, isSoft, ok, fresh)
			}
			if _, over := f.Overtaken(f.Capture(), n, k); over {
				t.Errorf("%v: a load from after is overtaken", s)
			}
			runtime.KeepAlive(n)
			f.applied.Store(&invalidate.Cursor{Epoch: 1, Scope: pos})
		}
	}
}

// Expires of everything, one after the other, do not fill the lists of all namespaces.
func TestWorldThatExpires(t *testing.T) {
	f, n := fences(t)
	old, s := f.Capture(), &Subject{Hash: 1, Key: "t:a:1"}
	for i := range 2 * mostCuts {
		f.Store(fenceOf(invalidate.All(), true), invalidate.Position(2*mostCuts-i))
	}
	if got := len(*n.cuts.Load()); got != 1 {
		t.Errorf("%d cuts, want 1", got)
	}
	old.Scope = invalidate.Position(2*mostCuts) - 1
	if fresh, ok := f.Accepts(old, n, s); !ok || fresh == Forever {
		t.Errorf("a frame from before the one with the highest position is accepted %t, fresh until %d", ok, fresh)
	}
	if fresh, over := f.Overtaken(old, n, s); over || fresh == Forever {
		t.Errorf("a load from before is overtaken %t, fresh until %d", over, fresh)
	}
}

// The same prefix again and again does not make entries leave that were not read meanwhile.
func TestWorldOfEqualCuts(t *testing.T) {
	f, n := fences(t)
	const others = fewCuts + 1 // a list that is not copied each time
	for i := range others {
		f.Store(fenceOf(invalidate.Prefix("t", fmt.Sprint("a:x", i)), false), 1)
	}
	seen, top := f.Tick(), invalidate.Position(100)
	for range 3 * mostCuts {
		f.Store(fenceOf(invalidate.Prefix("t", "a:q"), false), top)
		top = 2 // positions do not rise
	}
	if _, _, lost := n.compare(func() string { return "t:a:1" }, seen); lost {
		t.Error("an entry that no prefix covers is lost")
	}
	if _, covered, _ := n.compare(func() string { return "t:a:q1" }, seen); !covered {
		t.Error("an entry with the prefix is not covered")
	}
	mark := Mark{Key: 200, Scope: 99, Epoch: 1}
	if _, ok := f.Accepts(mark, n, &Subject{Hash: 1, Key: "t:a:q1"}); ok {
		t.Error("a frame from before the highest position is accepted")
	}
	if _, ok := f.Accepts(mark, n, &Subject{Hash: 1, Key: "t:a:1"}); !ok {
		t.Error("a frame that no prefix covers is refused")
	}
}

// What is older than the history counts as invalidated, and Stats says so.
func TestWorldThatForgets(t *testing.T) {
	f, n := fences(t)
	old, s := f.Capture(), &Subject{Hash: 1, Key: "t:a:1", On: &Deps{Tags: []uint64{2}}}
	for i := range uint64(3 * shards * most[ofTag]) {
		f.storeNode(ofTag, i*0x9e3779b97f4a7c15, false, invalidate.Position(i+1), nil, nil)
	}
	if _, over := f.Overtaken(old, n, s); !over {
		t.Error("a load from before what is forgotten is not overtaken")
	}
	if _, over := f.Overtaken(f.Capture(), n, s); over {
		t.Error("a load from after it is overtaken")
	}
	if _, over := f.Overtaken(old, n, &Subject{Hash: 1, Key: "t:a:1"}); over {
		t.Error("a load without tags is overtaken by tags")
	}
	limit := int64(2 * shards * most[ofTag])
	if got := f.Stats(); got.Forgotten != 1 || got.Tags > limit || got.Tags < limit/2 || got.Keys != 0 || got.Reach <= 0 {
		t.Errorf("Stats = %+v, want one forgotten and between %d and %d tags", got, limit/2, limit)
	}
}

func parse(t *testing.T, text string) key.Key {
	t.Helper()
	k, err := key.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
