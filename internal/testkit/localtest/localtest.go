package localtest

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
)

// Tier is what the tiers of this project have in common.
type Tier interface {
	tier.Local

	// Charged returns the charge against MaxBytes, and the part of it in a place with a limit of
	// its own.
	Charged() (total, part int64)
}

// Config says how to make a tier, and what it promises.
type Config struct {
	New      func(maxBytes int64) Tier
	Overhead int64 // charged for each entry in addition to its cost
	Above    int64 // what the tier may hold above MaxBytes, in percent
	Shards   int   // of a tier of 64 MiB, at least; zero when it has none
}

// Open returns l, which the end of the test closes.
func Open[T tier.Local](t testing.TB, l T) T {
	t.Helper()
	if err := l.Validate(); err != nil {
		t.Fatalf("Validate() = %v, want nil", err)
	}
	t.Cleanup(func() { wantClosed(t, l) })
	return l
}

func wantClosed(t testing.TB, l tier.Local) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
}

// Test checks what the tiers of this project promise beyond [tier.Local].
func Test(t *testing.T, c Config) {
	t.Helper()
	for _, tc := range []struct {
		name string
		test func(c Config, t *testing.T)
	}{
		{"validate", Config.validate},
		{"oversize", Config.oversize},
		{"negative cost counts as zero", Config.negative},
		{"close", Config.close},
		{"no goroutine is left", Config.bubble},
		{"node in the entry", Config.node},
		{"keeps what fits", Config.keeps},
		{"budget", Config.budget},
		{"small shards still evict", Config.smallShards},
		{"random operations", Config.model},
		{"shared hashes", Config.shared},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(c, t) })
	}
}

func (c Config) open(t *testing.T, maxBytes int64) Tier {
	t.Helper()
	return Open(t, c.New(maxBytes))
}

func (c Config) validate(t *testing.T) {
	for _, tc := range []struct {
		name     string
		maxBytes int64
		ok       bool
	}{
		{"zero is the default", 0, true},
		{"smallest", 16 << 10, true},
		{"too small", 16<<10 - 1, false},
		{"negative", -1, false},
		{"large", 1 << 40, true},
		{"no limit at all", math.MaxInt64, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := c.New(tc.maxBytes)
			defer wantClosed(t, l)
			err := l.Validate()
			if (err == nil) != tc.ok {
				t.Errorf("Validate() with MaxBytes %d = %v, want ok %v", tc.maxBytes, err, tc.ok)
			}
			if err != nil && !strings.Contains(err.Error(), "MaxBytes") {
				t.Errorf("Validate() = %v, want an error that names MaxBytes", err)
			}
			if got := l.Set(1, "v", 1); got != tc.ok {
				t.Errorf("Set = %v, want %v", got, tc.ok)
			}
			if _, ok := l.Get(1); ok != tc.ok {
				t.Errorf("Get after Set = %v, want %v", ok, tc.ok)
			}
		})
	}
}

// Event is one report of a tier, with any entry.
type Event struct {
	Entry  any
	Cost   int64
	Reason tier.EvictReason
}

// Record returns the list to which the reports of l are added. Only one goroutine may use l.
func Record(l tier.Local) *[]Event {
	var all []Event
	l.Open(tier.Hooks{Removed: func(e any, cost int64, r tier.EvictReason) { all = append(all, Event{e, cost, r}) }})
	return &all
}

func (c Config) oversize(t *testing.T) {
	const maxBytes = 1 << 20
	largest := maxBytes/5 - c.Overhead
	Play{Tier: c.open(t, maxBytes), MaxBytes: maxBytes, Largest: largest}.Run(t, func(p *Play) {
		for _, cost := range []int64{10, largest + 1, largest} {
			p.Set(1, cost)
		}
		p.Set(2, math.MaxInt64)
	})
}

func (c Config) negative(t *testing.T) {
	l := c.open(t, 1<<20)
	l.Set(1, "v", -5)
	if s := l.Stats(); s.Bytes != 0 || s.Entries != 1 {
		t.Errorf("Stats() = %+v; want 0 bytes, 1 entry", s)
	}
}

func (c Config) close(t *testing.T) {
	l := c.open(t, 1<<20)
	got := Record(l)
	for i := range uint64(500) {
		l.Set(trace.Hash(i), i, 100)
	}
	wantClosed(t, l)
	wantClosed(t, l)
	if l.Set(1, "v", 100) || l.Set(1, "huge", 1<<30) {
		t.Error("Set after Close = true, want false")
	}
	l.Delete(trace.Hash(1))
	if got, want := l.Stats(), (tier.LocalStats{MaxBytes: 1 << 20}); got != want {
		t.Errorf("Stats() after Close = %+v; want %+v", got, want)
	}
	for _, e := range *got {
		if e.Reason != tier.Closed {
			t.Errorf("reported %v, want only what was closed", e)
		}
	}
	if n := len(*got); n != 502 {
		t.Errorf("Close and the Sets after it reported %d entries, want 502", n)
	}
}

// bubble fails when a goroutine outlives Close, or blocks on anything outside the bubble.
func (c Config) bubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := c.New(64 << 10)
		for i := range uint64(2000) {
			l.Set(trace.Hash(i), i, 100)
			l.Get(trace.Hash(i / 2))
		}
		wantClosed(t, l)
	})
}

// node stores entries that are nodes themselves, also more than once. A node that was in use is not
// used again.
func (c Config) node(t *testing.T) {
	l := c.open(t, 1<<20)
	left := map[any]int{}
	l.Open(tier.Hooks{Removed: func(e any, cost int64, _ tier.EvictReason) {
		if left[e]++; cost != 10 {
			t.Errorf("reported a cost of %d, want 10", cost)
		}
	}})
	a, b := new(localnode.Node), new(localnode.Node)
	want := func(hash uint64, e *localnode.Node) {
		t.Helper()
		if got, ok := l.Get(hash); ok != (e != nil) || ok && got != any(e) {
			t.Errorf("Get(%d) = %v, %v, want %v", hash, got, ok, e)
		}
	}
	l.Set(1, a, 10)
	l.Set(2, a, 10) // the same entry under two hashes
	l.Set(3, b, 10)
	want(1, a)
	want(2, a)
	want(3, b)
	l.Delete(1)
	want(1, nil)
	want(2, a)
	l.Set(1, a, 10) // again, after it left
	l.Set(3, a, 10)
	want(1, a)
	want(3, a)
	if left[a] != 1 || left[b] != 1 {
		t.Errorf("reported %v, want a and b once each", left)
	}
	if n := l.Stats().Entries; n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}

// model has one shard, one shard with large entries, and several shards.
func (c Config) model(t *testing.T) {
	for _, tc := range []struct {
		name     string
		maxBytes int64
		cost     int64
	}{
		{"one shard", 128 << 10, 400},
		{"one shard, large entries", 128 << 10, 26 << 10},
		{"several shards", 8 << 20, 64 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := c.open(t, tc.maxBytes)
			Model(t, l, tc.cost, 0)
			c.CheckAccounts(t, l)
		})
	}
}

func (c Config) shared(t *testing.T) {
	const maxBytes = 64 << 10
	l := c.open(t, maxBytes)
	Compete(t, l, maxBytes, 0)
	c.CheckAccounts(t, l)
}
