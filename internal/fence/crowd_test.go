package fence_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/invalidate"
)

// crowded returns small fences whose tables for tags are full up to their reserve, and a channel
// that gets a value when a walk is due.
func crowded() (f *fence.Fences, due chan struct{}) {
	f, due = fence.NewSmall(64), make(chan struct{}, 1)
	f.OnForget(func() { due <- struct{}{} })
	fenceTags(f, 0, 3*64+1)
	return f, due
}

func fenceTags(f *fence.Fences, from, n int) {
	for i := range n {
		f.Fence(invalidate.Tag("acme", fmt.Sprint(from+i)))
	}
}

func applyTag(t *testing.T, tag string) fence.Request {
	r, err := fence.NewRequest(invalidate.Tag("acme", tag))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A writer waits for the walk when the tables use their reserve. Readers go on meanwhile.
func TestWritersWaitForTheWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, due := crowded()
		<-due
		s := f.Survey()
		done, begun := make(chan struct{}), time.Now()
		go func() {
			f.Apply(applyTag(t, "late"))
			close(done)
		}()
		synctest.Wait()
		fencetest.Check(t, f, fencetest.New(f, "acme:users:1", "mine"), true)
		select {
		case <-done:
			t.Fatal("the writer did not wait")
		default:
		}
		f.Settled(s.Tick())
		<-done
		if took := time.Since(begun); took != 0 {
			t.Errorf("the writer waited for %v after the walk", took)
		}
		if s := f.Stats(); s.Waits != 1 || s.Forgotten != 0 {
			t.Errorf("%+v, want one wait and nothing forgotten", s)
		}
		f.Apply(applyTag(t, "later"))
		if s := f.Stats(); s.Waits != 1 {
			t.Errorf("%d waits after the walk, want 1", s.Waits)
		}
	})
}

// The wait is bounded, and ends with the caller's context. Without a walk there is none. The fence
// is stored in each case.
func TestWaitForTheWalkIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		ctx  func(t *testing.T) context.Context
		f    func() *fence.Fences
		want time.Duration
	}{
		"endless walk": {want: 250 * time.Millisecond},
		"deadline": {want: 40 * time.Millisecond, ctx: func(t *testing.T) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), 37*time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		}},
		"no walk": {f: func() *fence.Fences {
			f := fence.NewSmall(64)
			fenceTags(f, 0, 3*64+1)
			return f
		}},
		"refused walk": {f: func() *fence.Fences { // the process ends
			f := fence.NewSmall(64)
			f.OnForget(func() { f.Settled(0) })
			fenceTags(f, 0, 3*64+1)
			return f
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f *fence.Fences
				if tt.f != nil {
					f = tt.f()
				} else {
					f, _ = crowded()
				}
				ctx := t.Context()
				if tt.ctx != nil {
					ctx = tt.ctx(t)
				}
				e, begun := fencetest.New(f, "acme:users:1", "mine"), time.Now()
				f.ApplyWithin(ctx, applyTag(t, "mine"))
				if took := time.Since(begun); took != tt.want {
					t.Errorf("the writer waited for %v, want %v", took, tt.want)
				}
				fencetest.Check(t, f, e, false)
			})
		})
	}
}

// A call with many scopes waits for a walk again and again, so it forgets nothing.
func TestLongCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fence.NewSmall(1024)
		resident, lost := fencetest.New(f, "acme:users:1", "mine"), fencetest.New(f, "acme:users:2", "other 7")
		walks := 0
		f.OnForget(func() {
			walks++
			go func() {
				s := f.Survey()
				<-time.After(100 * time.Millisecond) // of the bubble
				for _, e := range []*fencetest.Entry{resident, lost} {
					if s.Clear(e.Born, uint32(e.Hash), e, e.Tags) {
						e.Born = s.Tick()
					}
				}
				f.Settled(s.Tick())
			}()
		})
		r := fence.Request{}
		for i := range 20_000 {
			r.Scopes = append(r.Scopes, invalidate.Tag("acme", fmt.Sprint("other ", i)))
		}
		f.Apply(r)
		<-time.After(time.Second) // the last walk ends
		synctest.Wait()
		if !resident.Clear(f) || lost.Clear(f) {
			t.Error("want the entry that is not covered, and not the other one")
		}
		if s := f.Stats(); s.Waits < 5 || walks < 5 {
			t.Errorf("%d walks, %+v; want several waits", walks, s)
		}
	})
}

// nosy is an entry whose key stores a fence when it is spelled.
type nosy struct {
	*fencetest.Entry
	spell func()
}

func (e nosy) FullKey() string {
	e.spell()
	return e.Key
}

// A fence that a walk itself causes waits for milliseconds only, as does a writer on which the walk
// waits.
func TestFenceInsideTheWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, due := crowded()
		f.Fence(invalidate.Prefix("acme", "teams:")) // then keys are spelled
		e := fencetest.New(f, "acme:users:1")
		f.Fence(invalidate.Prefix("acme", "users:2"))
		<-due
		s, begun := f.Survey(), time.Now()
		ok := s.Clear(e.Born, uint32(e.Hash), nosy{e, func() { f.Apply(applyTag(t, "inside")) }}, nil)
		if took := time.Since(begun); !ok || took > 10*time.Millisecond {
			t.Errorf("Clear = %v after %v, want true after a few milliseconds", ok, took)
		}
		done := make(chan struct{})
		ok = s.Clear(e.Born, uint32(e.Hash), nosy{e, func() {
			go func() {
				f.Apply(applyTag(t, "the walk waits for it"))
				close(done)
			}()
			<-done
		}}, nil)
		if took := time.Since(begun); !ok || took > 20*time.Millisecond {
			t.Errorf("Clear = %v after %v, want true after a few milliseconds", ok, took)
		}
	})
}

// A survey compares ticks that are far apart: never clear where a fence covers.
func TestSurveyOfOldFences(t *testing.T) {
	f := fence.New(start)
	old := fencetest.New(f, "acme:users:1", "a")
	f.Fence(invalidate.Key(fencetest.KeyOf(t, "acme:users:1")))
	young := fencetest.New(f, "acme:users:1", "a")
	f.Skip(1 << 33)
	f.Fence(invalidate.Tag("acme", "a"))
	last := fencetest.New(f, "acme:users:1", "a")
	s := f.Survey()
	for i, e := range []*fencetest.Entry{old, young, last} {
		if got, want := s.Clear(e.Born, uint32(e.Hash), e, e.Tags), e == last; got != want {
			t.Errorf("entry %d: Clear = %v, want %v", i, got, want)
		}
	}
}

// With more entries there is more room: a fence pays for few of them.
func TestBlocksGrowWithTheEntries(t *testing.T) {
	f := fence.NewSmall(64)
	f.OnForget(func() {})
	f.Expect(64 * 8 * 4)
	fenceTags(f, 0, 4*64*4)
	e := fencetest.New(f, "acme:users:1", "0")
	fencetest.Check(t, f, e, true)
	if s := f.Stats(); s.Tags != 4*64*4 {
		t.Errorf("%d tags are remembered, want %d", s.Tags, 4*64*4)
	}
}
