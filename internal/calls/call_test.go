package calls_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/internal/calls"
)

// work is a key, and the number by which newcomers decide about a call.
type work[K comparable] struct {
	key K
	n   int
}

type (
	call[K comparable, R any]  = calls.Call[work[K], R]
	group[K comparable, R any] struct{ *calls.Group[work[K], R] }
)

func newGroup[K comparable, R any](limit int) group[K, R] {
	return group[K, R]{calls.NewGroup[work[K], R](limit)}
}

func (g group[K, R]) join(hash uint64, key K, n int, ok func(int) bool) (*call[K, R], bool) {
	return g.Join(hash, &call[K, R]{Meta: work[K]{key, n}}, func(m work[K]) bool { return m.key == key && ok(m.n) })
}

// cancelFunc is a function used as a Canceler.
type cancelFunc func()

func (f cancelFunc) Cancel() { f() }

func always(int) bool { return true }
func never(int) bool  { return false }

func TestJoinAndFinish(t *testing.T) {
	g := newGroup[string, string](0)
	c, led := g.join(1, "a", 7, always)
	if !led || c.Meta.n != 7 || g.Len() != 1 {
		t.Fatalf("first Join: led %v, meta %d, %d calls", led, c.Meta.n, g.Len())
	}
	d, led := g.join(1, "a", 8, func(m int) bool { return m == 7 })
	if led || d != c {
		t.Error("the second does not join the first's call")
	}
	if other, led := g.join(1, "b", 0, always); !led || other == c {
		t.Error("another key joins the call")
	}
	select {
	case <-c.Done():
		t.Error("done before Finish")
	default:
	}
	if c.Ended() != nil {
		t.Error("ended before Finish")
	}
	if !c.Finish("result") || c.Finish("again") {
		t.Error("only the first Finish counts")
	}
	<-d.Done()
	if *d.Ended() != "result" || g.Len() != 1 {
		t.Errorf("Result = %q, %d calls, want result and 1", *d.Ended(), g.Len())
	}
	if _, led := g.join(1, "a", 0, always); !led {
		t.Error("a finished call is joined")
	}
}

func TestRefuseToJoin(t *testing.T) {
	g := newGroup[string, string](0)
	old, _ := g.join(1, "a", 1, always)
	fresh, led := g.join(1, "a", 2, never)
	if !led || fresh == old {
		t.Fatal("a refused call was joined")
	}
	if c, led := g.join(1, "a", 3, always); led || c != fresh {
		t.Error("newcomers do not find the newer call")
	}
	old.Finish("old") // must not remove the newer call
	if c, led := g.join(1, "a", 3, always); led || c != fresh {
		t.Error("the older call's end hid the newer one")
	}
	if *old.Ended() != "old" {
		t.Error("the older call lost its result")
	}
}

func TestLastLeaverAbandons(t *testing.T) {
	g := newGroup[string, string](0)
	c, _ := g.join(1, "a", 0, always)
	abandoned := 0
	c.OnAbandon(cancelFunc(func() { abandoned++ }))
	_, _ = g.join(1, "a", 0, always)
	c.Leave()
	if abandoned != 0 {
		t.Error("abandoned while somebody waits")
	}
	c.Leave()
	if abandoned != 1 {
		t.Errorf("abandoned %d times, want 1", abandoned)
	}
	if _, led := g.join(1, "a", 0, always); !led {
		t.Error("an abandoned call is joined")
	}
	if g.Len() != 2 {
		t.Errorf("Len = %d: an abandoned call counts until it finishes", g.Len())
	}
	c.Finish("")
	if g.Len() != 1 {
		t.Errorf("Len = %d after Finish", g.Len())
	}
}

func TestOnAbandonAfterwards(t *testing.T) {
	g := newGroup[string, string](0)
	c, _ := g.join(1, "a", 0, always)
	c.Leave()
	ran := false
	c.OnAbandon(cancelFunc(func() { ran = true }))
	if !ran {
		t.Error("the function did not run at once")
	}
}

func TestNotAbandoned(t *testing.T) {
	for name, keep := range map[string]func(c *call[string, string]){
		"finished": func(c *call[string, string]) { c.Finish("") },
		"pinned":   func(c *call[string, string]) { c.Pin() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup[string, string](0)
			c, _ := g.join(1, "a", 0, always)
			c.OnAbandon(cancelFunc(func() { t.Error("abandoned") }))
			keep(c)
			c.Leave()
			if _, led := g.join(1, "a", 0, always); led != (name == "finished") {
				t.Errorf("the next caller leads: %v", led)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	g := newGroup[int, string](2)
	a, _ := g.join(1, 1, 0, always)
	_, _ = g.join(2, 2, 0, always)
	if c, _ := g.join(3, 3, 0, always); c != nil {
		t.Error("a third call fits into two")
	}
	if c, led := g.join(1, 1, 0, always); c != a || led {
		t.Error("joining needs no room")
	}
	if c, _ := g.join(1, 1, 0, never); c != nil {
		t.Error("replacing a call needs room")
	}
	a.Finish("")
	if c, _ := g.join(3, 3, 0, always); c == nil {
		t.Error("a finished call still takes room")
	}
}

// Many goroutines use few keys: one goroutine at a time does the work of a key, and each gets a
// result of its key.
func TestConcurrently(t *testing.T) {
	g := newGroup[int, int](0)
	var running [4]atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 500 {
				k := (i + n) % 4
				c, led := g.join(uint64(k), k, 0, always)
				if led {
					if running[k].Add(1) > 1 {
						t.Error("two at the same work")
					}
					running[k].Add(-1)
					c.Finish(k)
				}
				<-c.Done()
				if *c.Ended() != k {
					t.Errorf("Result = %d, want %d", *c.Ended(), k)
				}
				c.Leave()
			}
		})
	}
	wg.Wait()
	if g.Len() != 0 {
		t.Errorf("%d calls left", g.Len())
	}
}

// A result is wanted while a participant waits or the call is pinned.
func TestWanted(t *testing.T) {
	g := newGroup[string, string](0)
	left, _ := g.join(1, "a", 0, always)
	if !left.Wanted() {
		t.Error("a call with a participant is not wanted")
	}
	left.Leave()
	pinned, _ := g.join(1, "a", 0, always)
	pinned.Pin()
	pinned.Leave()
	if left.Wanted() || !pinned.Wanted() {
		t.Errorf("without participants: abandoned call wanted %v, pinned call wanted %v", left.Wanted(), pinned.Wanted())
	}
	if pinned.Finish(""); pinned.Wanted() {
		t.Error("a call that has ended is wanted")
	}
}

// Calls with one hash do not hide each other, in any order of their ends. A key that is not equal
// to itself leaves nothing behind.
func TestOneHash(t *testing.T) {
	for first := range 3 {
		g := newGroup[float64, string](0)
		keys := []float64{1, math.NaN(), 3}
		var calls []*call[float64, string]
		for i, k := range keys {
			c, led := g.join(7, k, i, always)
			if !led {
				t.Fatalf("key %v joins another's call", k)
			}
			calls = append(calls, c)
		}
		calls[first].Finish("")
		calls[first].Leave()
		for i, k := range keys {
			if i == first || i == 1 {
				continue
			}
			if c := g.Find(7, func(m work[float64]) bool { return m.key == k }); c != calls[i] {
				t.Errorf("without call %d, call %d is not found", first, i)
			}
		}
		for _, c := range calls {
			c.Finish("")
		}
		if c := g.Find(7, func(work[float64]) bool { return true }); c != nil || g.Len() != 0 {
			t.Errorf("%d calls are left, one of them %v", g.Len(), c)
		}
	}
}

// A participant that refuses the latest call may still join an earlier one.
func TestEarlierCall(t *testing.T) {
	g := newGroup[string, string](0)
	strict, _ := g.join(1, "a", 9, always)
	_, _ = g.join(1, "a", 1, never)
	if c, led := g.join(1, "a", 5, func(n int) bool { return n >= 5 }); led || c != strict {
		t.Error("the earlier call is not joined")
	}
}

// However many calls of one hash are unfinished, a newcomer looks at few of them, and finds the
// latest that it may join.
func TestManyUnfinishedCalls(t *testing.T) {
	g := newGroup[int, string](0)
	var calls []*call[int, string]
	for i := range 10_000 {
		looked := 0
		c, led := g.join(7, 1, i, func(int) bool { looked++; return false })
		if !led || looked > 16 {
			t.Fatalf("with %d calls a newcomer looks at %d of them and leads: %v", i, looked, led)
		}
		calls = append(calls, c)
	}
	if c, led := g.join(7, 1, 0, func(n int) bool { return n == 9_995 }); led || c != calls[9_995] {
		t.Error("a newcomer does not join a call that it accepts")
	}
	for _, c := range calls {
		c.Finish("")
	}
	if g.Len() != 0 {
		t.Errorf("%d calls are left", g.Len())
	}
}
