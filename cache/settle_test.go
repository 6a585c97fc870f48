package cache_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
)

// blind is a local tier that cannot list its entries.
type blind struct{ tier.Local }

func otherDeletes(t *testing.T, c things, from, n int) {
	t.Helper()
	for i := range n {
		must(t, c.Delete(t.Context(), from+i))
	}
}

// With more deletes than are remembered, a tier that cannot be walked loses entries. Stats
// counts them. Invalidated entries stay invalidated.
func TestForgottenIsCounted(t *testing.T) {
	const residents, remembered = 1000, 1 << 19
	tiers := roomy(t, blind{local.New(local.Config{})})
	c := reside(t, tiers, residents, nil)
	otherDeletes(t, c, residents, remembered/8)
	wantResidents(t, c, residents, 1000)
	otherDeletes(t, c, 2*remembered, remembered+remembered/16)
	lost := 0
	for k := range residents {
		if _, ok := c.Peek(t.Context(), k); !ok {
			lost++
		}
	}
	if s := tiers.Stats().Fences; lost == 0 || s.Forgotten != int64(lost) || s.Keys > remembered {
		t.Errorf("%d entries are lost, but Stats has %+v", lost, s)
	}
}

// gated is a local tier whose first walk waits until the test lets it go on.
type gated struct {
	*local.Tier
	walks, shown int
	begun, goOn  chan struct{}
}

func (g *gated) Range(f func(tier.Entry) bool) {
	if g.walks++; g.walks == 1 {
		close(g.begun)
		<-g.goOn
	}
	g.Tier.Range(func(e tier.Entry) bool {
		g.shown++
		return f(e)
	})
}

// Close waits for a walk and ends it. No goroutine is left.
func TestCloseWhileSettling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{Tier: local.New(local.Config{}), begun: make(chan struct{}), goOn: make(chan struct{})}
		tiers, err := cache.Open(cache.TiersConfig{Local: g})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		c := reside(t, tiers, 100, nil)
		otherDeletes(t, c, 1000, 1<<18)
		<-g.begun
		closed := make(chan error)
		go func() { closed <- tiers.Close(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Errorf("Close = %v before the walk ended", err)
		default:
		}
		close(g.goOn)
		if err := <-closed; err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
		if g.walks != 1 || g.shown != 1 {
			t.Errorf("%d walks showed %d entries after Close began, want 1 and 1", g.walks, g.shown)
		}
	})
}

// After an entry is deleted, so much else is deleted that its fence is forgotten. The entry
// stays deleted, and entries that were not deleted stay.
func TestSettledTellsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const residents, others, bulk = 1000, 400_000, 4000
		w := newLogged(t, thingConfig{Policy: patch{TTL: new(time.Hour)}})
		var even []invalidate.Scope
		for k := range residents {
			w.want(t, 1, k, strconv.Itoa(k)+".1")
			if k%2 == 0 {
				even = append(even, keyScope(t, k))
			}
		}
		w.invalidate(t, 0, even...)
		for i := 0; i < others; i += bulk {
			var some []invalidate.Scope
			for k := range bulk {
				some = append(some, keyScope(t, residents+i+k))
			}
			w.invalidate(t, 0, some...)
			advance(10 * time.Millisecond)
		}
		w.src.wantLoads(t, residents)
		if s := w.tiers[1].Stats(); s.Fences.Keys > others-bulk || s.Fences.Forgotten > 0 {
			t.Errorf("Stats = %+v, want forgotten fences and no forgotten entries", s.Fences)
		}
		for k := range residents {
			w.want(t, 1, k, strconv.Itoa(k)+"."+strconv.Itoa(2-k%2))
		}
		w.src.wantLoads(t, residents+residents/2)
	})
}
