package fence_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/fence/fencetest"
	"github.com/twofold-go/twofold/invalidate"
)

func hold(tb testing.TB, f *fence.Fences, d time.Duration, s invalidate.Scope) {
	tb.Helper()
	r, err := fence.NewRequest(s, invalidate.Hold(d))
	if err != nil {
		tb.Fatal(err)
	}
	f.Apply(r)
}

func held(f *fence.Fences, k string, tags ...string) bool {
	var hashes []uint64
	for _, tag := range tags {
		hashes = append(hashes, invalidate.Tag("acme", tag).Hash())
	}
	return f.Held(xxhash.Sum64String(k), k, &fence.Deps{Tags: hashes}, f.Now())
}

const mostHolds = 1 << 18

// Beyond the limit the next hold holds its whole kind, and the others stay as before. When all have
// ended, none is left.
func TestHoldsOverflow(t *testing.T) {
	for _, tt := range []struct {
		name             string
		scope            func(i int) invalidate.Scope
		tagged, untagged bool
	}{
		{"keys", func(i int) invalidate.Scope { return invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("acme:others:", i))) }, true, true},
		{"prefixes", func(i int) invalidate.Scope { return invalidate.Prefix("acme", fmt.Sprint("others:", i)) }, true, true},
		{"tags", func(i int) invalidate.Scope { return invalidate.Tag("acme", fmt.Sprint(i)) }, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fence.New(time.Now())
				for i := range mostHolds {
					hold(t, f, time.Minute, tt.scope(i))
				}
				hold(t, f, time.Second, invalidate.Tenant("bolt"))
				if held(f, "acme:users:1", "t") && tt.name != "prefixes" {
					t.Error("held below the limit")
				}
				hold(t, f, time.Minute, tt.scope(mostHolds))
				if got := held(f, "acme:users:1", "t"); got != tt.tagged {
					t.Errorf("with a tag: held is %v, want %v", got, tt.tagged)
				}
				if got := held(f, "acme:users:1"); got != tt.untagged {
					t.Errorf("without tags: held is %v, want %v", got, tt.untagged)
				}
				if s := f.Stats(); s.HoldsWidened == 0 || s.Holds < mostHolds {
					t.Errorf("Stats = %+v, want widened holds, and %d of them", s, mostHolds)
				}
				<-time.After(time.Minute)
				for range mostHolds {
					if held(f, "acme:users:1", "t") {
						t.Fatal("held after the end of all")
					}
				}
				if s := f.Stats(); s.Holds != 0 {
					t.Errorf("%d holds are left", s.Holds)
				}
			})
		})
	}
}

// A repeated hold ends at the later time; a shorter one changes nothing.
func TestHoldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fence.New(time.Now())
		tag := invalidate.Tag("acme", "t")
		hold(t, f, 2*time.Second, tag)
		hold(t, f, time.Minute, tag)
		hold(t, f, time.Second, tag)
		hold(t, f, 5*time.Second, invalidate.Prefix("acme", "teams:"))
		<-time.After(30 * time.Second)
		if !held(f, "acme:users:1", "t") || held(f, "acme:teams:1") || held(f, "acme:users:1") {
			t.Error("after half of the time the tag is to be held, and nothing else")
		}
		<-time.After(30 * time.Second)
		if held(f, "acme:users:1", "t") || f.Stats().Holds != 0 {
			t.Error("held after the end")
		}
	})
}

// BenchmarkHold measures the cost of one more hold beside others that are live.
func BenchmarkHold(b *testing.B) {
	for _, live := range []int{100, 9_900, 200_000} {
		b.Run(fmt.Sprint(live, " live"), func(b *testing.B) {
			f := fence.New(time.Now())
			for i := range live {
				hold(b, f, time.Hour, invalidate.Tag("acme", fmt.Sprint(i)))
			}
			r, err := fence.NewRequest(invalidate.Tag("acme", "t"), invalidate.Hold(time.Millisecond))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				f.Apply(r)
			}
		})
	}
}

// A load that began within a hold counts as held after the hold's end, for as long as it runs. A
// load that began later does not.
func TestHoldsAreRememberedForLoads(t *testing.T) {
	for _, running := range []time.Duration{time.Second, time.Minute, 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			f := fence.New(time.Now())
			<-time.After(time.Minute)
			before := f.Now()
			hold(t, f, 10*time.Second, invalidate.Tag("acme", "t"))
			hold(t, f, 10*time.Second, invalidate.Prefix("acme", "teams:"))
			<-time.After(9 * time.Second)
			within := f.Now()
			<-time.After(time.Second)
			after := f.Now()
			<-time.After(running)
			since := func(began int64, k string, tags ...uint64) bool {
				held(f, "acme:none:1") // as a later load does, which lets the fences forget
				return f.Held(xxhash.Sum64String(k), k, &fence.Deps{Tags: tags}, began)
			}
			tag := invalidate.Tag("acme", "t").Hash()
			for _, began := range []int64{before, within} {
				if !since(began, "acme:users:1", tag) || !since(began, "acme:teams:1") {
					t.Errorf("not held, although the load began within the hold, %v ago", running)
				}
			}
			if since(after, "acme:users:1", tag) || since(after, "acme:teams:1") {
				t.Error("held, although the load began after the hold")
			}
			if running < time.Minute && since(within, "acme:users:1") {
				t.Error("held by the hold of something else")
			}
		})
	}
}

// A value with more parts than it can name is held by any hold of a key or prefix, also by a load
// that outlives the hold, and only by those that ended after its load began.
func TestHoldsOfTooManyParts(t *testing.T) {
	for _, s := range []invalidate.Scope{invalidate.Key(fencetest.KeyOf(t, "acme:users:1")), invalidate.Prefix("acme", "users:")} {
		synctest.Test(t, func(t *testing.T) {
			f := fence.New(time.Now())
			many := func(began int64) bool {
				const k = "acme:pages:1"
				return f.Held(xxhash.Sum64String(k), k, &fence.Deps{Keys: []uint64{invalidate.AnyTag}}, began)
			}
			<-time.After(time.Minute)
			hold(t, f, time.Millisecond, invalidate.Tag("acme", "t"))
			if many(f.Now()) {
				t.Errorf("%v: held by the hold of a tag", s)
			}
			hold(t, f, time.Second, s)
			<-time.After(time.Second - 1)
			within := f.Now()
			if !many(within) {
				t.Errorf("%v: not held within the hold", s)
			}
			<-time.After(1)
			after := f.Now()
			if many(after) {
				t.Errorf("%v: held, although the hold has ended", s)
			}
			<-time.After(time.Minute)
			if !many(within) || many(after) {
				t.Errorf("%v: a minute later: held is %v for a load that began within the hold, and %v for a later one", s, many(within), many(after))
			}
			<-time.After(time.Hour)
			if !many(within) || many(after) {
				t.Errorf("%v: an hour later: held is %v for a load that began within the hold, and %v for a later one", s, many(within), many(after))
			}
		})
	}
}

// Ended holds make room for live ones. Nothing is widened, and no load escapes its hold.
func TestEndedHoldsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fence.New(time.Now())
		began := f.Now()
		for round := range 3 {
			for i := range mostHolds {
				hold(t, f, time.Second, invalidate.Tag("acme", fmt.Sprint(round, " ", i)))
			}
			<-time.After(2 * time.Second)
		}
		for range mostHolds { // each call ends some
			held(f, "acme:users:1")
		}
		if s := f.Stats(); s.HoldsWidened != 0 || s.Holds != 0 {
			t.Errorf("Stats = %+v, want no live hold, and none widened", s)
		}
		tags := []uint64{invalidate.Tag("acme", "0 7").Hash()}
		if !f.Held(0, "acme:users:1", &fence.Deps{Tags: tags}, began) {
			t.Error("not held: the hold was forgotten while a load from within it runs")
		}
		if held(f, "acme:users:1", "0 7") {
			t.Error("held now, although every hold has ended")
		}
	})
}
