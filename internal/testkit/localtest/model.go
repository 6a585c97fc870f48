package localtest

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
)

// workers is the number of goroutines of a test.
const workers = 4

// inParallel runs f in all workers, and joins what they return.
func inParallel(f func(worker int) []*Entry) []*Entry {
	var wg sync.WaitGroup
	var all [workers][]*Entry
	for g := range workers {
		wg.Go(func() { all[g] = f(g) })
	}
	wg.Wait()
	return slices.Concat(all[:]...)
}

// Model runs random operations from several goroutines, with costs below maxCost. Each uses its
// own hashes and its own map. Choose maxCost so that the tier is full. A Get returns the newest
// entry, or nothing if that entry was reported. At the end each entry is either resident or was
// reported once.
func Model(t *testing.T, l tier.Local, maxCost int64, late time.Duration) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	led := Listen(l)
	all := inParallel(func(g int) []*Entry {
		p := player{t, l, led, rand.New(rand.NewPCG(seed, uint64(g))), map[uint64]*Entry{}}
		return p.play(g, maxCost)
	})
	led.Settle(t, l, late, all)
}

// player is one goroutine of a [Model].
type player struct {
	t      *testing.T
	l      tier.Local
	led    *Ledger
	r      *rand.Rand
	newest map[uint64]*Entry
}

// play runs the operations, and returns every entry that it set.
func (p player) play(g int, maxCost int64) (all []*Entry) {
	for seq := range 8000 {
		k := p.r.Uint64N(150)
		if p.r.IntN(3) == 0 {
			k += p.r.Uint64N(2000) // a long tail, to push others out
		}
		h := trace.Hash(k*16 + uint64(g))
		switch op := p.r.IntN(10); {
		case op < 4:
			e := &Entry{h, seq}
			all = append(all, e)
			if p.l.Set(h, e, p.r.Int64N(maxCost)) {
				p.newest[h] = e
			} else {
				delete(p.newest, h)
			}
		case op < 5:
			p.l.Delete(h)
			delete(p.newest, h)
		default:
			p.get(h)
		}
	}
	return all
}

func (p player) get(h uint64) {
	want := p.newest[h]
	got, ok := p.l.Get(h)
	if ok && got != any(want) {
		p.t.Errorf("Get(%#x) = %v, want %v or a miss", h, got, want)
	}
	if !ok && want != nil && !p.t.Failed() && p.stillMissing(want) {
		p.t.Errorf("Get(%#x) missed %v, which was never reported", h, *want)
	}
}

// stillMissing waits until the goroutine that removed e reports it, which it may do without a lock.
func (p player) stillMissing(e *Entry) bool {
	missing := func() bool {
		_, ok := p.l.Get(e.Hash)
		return !ok && len(p.led.Of(e)) == 0
	}
	for begun := time.Now(); missing(); <-time.After(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			return true
		}
	}
	return false
}

// Compete lets goroutines compete for a few hashes of a tier of maxBytes, with costs from nothing
// to more than the tier accepts. A Get returns an entry of its hash. At the end each entry is
// either resident or was reported once.
func Compete(t *testing.T, l tier.Local, maxBytes int64, late time.Duration) {
	t.Helper()
	led := Listen(l)
	all := inParallel(func(g int) (all []*Entry) {
		r := rand.New(rand.NewPCG(1, uint64(g)))
		for seq := range 10_000 {
			h := trace.Hash(r.Uint64N(40))
			if seq%3 == 0 {
				h = trace.Hash(r.Uint64N(1000))
			}
			cost := r.Int64N(maxBytes / 16)
			if seq%97 == 0 {
				cost = 2 * maxBytes
			}
			e := &Entry{h, seq}
			all = append(all, e)
			l.Set(h, e, cost)
			if seq%7 == 0 {
				l.Delete(trace.Hash(r.Uint64N(40)))
			}
			if got, ok := l.Get(h); ok && got.(*Entry).Hash != h {
				t.Errorf("Get(%#x) = entry of %#x", h, got.(*Entry).Hash)
			}
		}
		return all
	})
	led.Settle(t, l, late, all)
}

// Allocs checks that a Get allocates nothing, whether it hits or misses, and also when it is the
// first one of its entry. The tier needs room for 1 MiB.
func Allocs(t *testing.T, l tier.Local) {
	t.Helper()
	Mute(l)
	const entries = 1000
	for i := range uint64(entries) {
		l.Set(trace.Hash(i), &Entry{}, 700)
	}
	i := uint64(0)
	get := func() {
		l.Get(trace.Hash(i))
		l.Get(trace.Hash(i / 2))
		i++
	}
	for _, what := range []string{"hit", "miss"} { // i goes on beyond the entries
		if n := testing.AllocsPerRun(entries-1, get); n != 0 {
			t.Errorf("a Get that may %s allocates %v times, want 0", what, n)
		}
	}
}
