package cache_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// eventEar records the events of some Tiers.
type eventEar struct {
	mu     sync.Mutex
	events []invalidate.Event
}

func listenTo(tiers *cache.Tiers) (e *eventEar, stop func()) {
	e = &eventEar{}
	return e, tiers.OnInvalidate(func(event invalidate.Event) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.events = append(e.events, event)
	})
}

// heard returns the events since its last call.
func (e *eventEar) heard() (events []invalidate.Event) {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	events, e.events = e.events, nil
	for i := range events {
		events[i].At = time.Time{}
	}
	return events
}

func event(local, soft bool, scopes ...invalidate.Scope) invalidate.Event {
	e := invalidate.Event{Local: local}
	for _, s := range scopes {
		f := s.Fence()
		f.Soft = soft
		e.Fences = append(e.Fences, f)
		if local {
			e.Scopes = append(e.Scopes, s)
		}
	}
	return e
}

func wantEvents(t *testing.T, got []invalidate.Event, want ...invalidate.Event) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b invalidate.Scope) bool { return a == b })); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A process gets events of its own invalidations with their scopes, and of another process's
// with hashes only. They come in order. Earlier invalidations of other processes cause none.
func TestOnInvalidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.invalidate(t, 0, invalidate.Tag("default", "earlier"))
		advance(time.Second)
		here, stop := listenTo(w.tiers[0])
		there, _ := listenTo(w.tiers[1])
		tag, key := invalidate.Tag("default", "t"), keyScope(t, 1)
		w.invalidate(t, 0, tag)
		advance(5 * time.Millisecond) // keys and other scopes are ordered separately
		if err := w.c[0].Set(t.Context(), 1, "v"); err != nil {
			t.Fatal(err)
		}
		advance(5 * time.Millisecond)
		w.expire(t, 0, key, invalidate.All())
		advance(5 * time.Millisecond)
		wantEvents(t, here.heard(), event(true, false, tag), event(true, false, key), event(true, true, key, invalidate.All()))
		wantEvents(t, there.heard(), event(false, false, tag), event(false, false, key), event(false, true, key, invalidate.All()))
		stop()
		stop()
		w.invalidate(t, 1, tag)
		advance(5 * time.Millisecond)
		wantEvents(t, here.heard())
		wantEvents(t, there.heard(), event(true, false, tag))
	})
}

// Without a log a process gets events of its own calls only.
func TestOnInvalidateAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{})
		c := with(t, tiers, thingConfig{Load: (&source{}).load})
		e, _ := listenTo(tiers)
		if err := errors.Join(c.Set(t.Context(), 1, "v"), c.Delete(t.Context(), 1), c.Expire(t.Context(), 1)); err != nil {
			t.Fatal(err)
		}
		key := keyScope(t, 1)
		wantEvents(t, e.heard(), event(true, false, key), event(true, false, key), event(true, true, key))
	})
}

// An invalidation that waits for the log causes an event at once, because it applies in this
// process at once. Missing records cause an event of everything.
func TestOnInvalidateInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		here, _ := listenTo(w.tiers[0])
		there, _ := listenTo(w.tiers[1])
		w.link[0].Fail(errors.New("unplugged"))
		tag := invalidate.Tag("default", "t")
		if err := w.tiers[0].Invalidate(t.Context(), tag); err == nil {
			t.Fatal("no error without a log")
		}
		wantEvents(t, here.heard(), event(true, false, tag))
		wantEvents(t, there.heard())
		w.link[0].Heal()
		advance(bound)
		wantEvents(t, there.heard(), event(false, false, tag))
		here.heard()
		w.link[1].Corrupt(func(p invalidate.Page) invalidate.Page { // a record is lost
			p.Scopes = slices.DeleteFunc(slices.Clone(p.Scopes), func(r invalidate.Record) bool { return len(r.Fences) == 2 })
			return p
		})
		w.invalidate(t, 0, tag, invalidate.Tag("default", "lost"))
		w.invalidate(t, 0, tag)
		advance(5 * time.Millisecond)
		got := there.heard()
		if !slices.ContainsFunc(got, func(e invalidate.Event) bool { return !e.Local && slices.Contains(e.Fences, invalidate.All().Fence()) }) {
			t.Errorf("events = %+v, want an event of everything: a record is missing", got)
		}
	})
}

// A listener that is too slow gets an event of everything, with the number of dropped events. A
// listener that panics stays registered.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{})
		held, told, missed := make(chan struct{}), 0, 0
		var last invalidate.Event
		tiers.OnInvalidate(func(e invalidate.Event) {
			<-held
			told, missed, last = told+1, missed+e.Missed, e
			panic("no")
		})
		const calls = 5000
		for range calls {
			if err := tiers.Invalidate(t.Context(), invalidate.Tag("default", "t")); err != nil {
				t.Fatal(err)
			}
		}
		close(held)
		synctest.Wait()
		if told > 2000 || missed == 0 || told+missed-1 < calls {
			t.Errorf("%d events delivered and %d missed, of %d", told, missed, calls)
		}
		if len(last.Fences) != 1 {
			t.Errorf("last event = %+v", last)
		}
	})
}

// A listener is not called after its stop function or Close. It may call stop itself.
func TestListenerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{Log: logtest.NewMemory(logtest.MemoryConfig{})})
		calls := 0
		var stop func()
		stop = tiers.OnInvalidate(func(invalidate.Event) { calls++; stop() })
		for range 3 {
			if err := tiers.Invalidate(t.Context(), invalidate.Tag("default", "t")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if calls != 1 {
			t.Errorf("%d calls, want 1: it stopped itself", calls)
		}
		tiers.OnInvalidate(func(invalidate.Event) {})
		if err := tiers.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		tiers.OnInvalidate(func(invalidate.Event) { t.Error("called on closed tiers") })()
	})
}
