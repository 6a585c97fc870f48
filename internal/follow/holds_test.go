package follow_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
)

func hold(tb testing.TB, f *follow.Fences, d time.Duration, s invalidate.Scope) {
	tb.Helper()
	r, err := follow.NewRequest(s, invalidate.Hold(d))
	if err != nil {
		tb.Fatal(err)
	}
	f.Apply(r)
}

func held(f *follow.Fences, k string, tags ...string) bool {
	var hashes []uint64
	for _, tag := range tags {
		hashes = append(hashes, invalidate.Tag("acme", tag).Hash())
	}
	return f.Held(xxhash.Sum64String(k), k, hashes)
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
		{"keys", func(i int) invalidate.Scope { return invalidate.Key(keyOf(t, fmt.Sprint("acme:others:", i))) }, true, true},
		{"prefixes", func(i int) invalidate.Scope { return invalidate.Prefix("acme", fmt.Sprint("others:", i)) }, true, true},
		{"tags", func(i int) invalidate.Scope { return invalidate.Tag("acme", fmt.Sprint(i)) }, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follow.NewFences(start)
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
		f := follow.NewFences(start)
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
			f := follow.NewFences(start)
			for i := range live {
				hold(b, f, time.Hour, invalidate.Tag("acme", fmt.Sprint(i)))
			}
			r, err := follow.NewRequest(invalidate.Tag("acme", "t"), invalidate.Hold(time.Millisecond))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				f.Apply(r)
			}
		})
	}
}
