package cache_test

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
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
		e.Fences = append(e.Fences, invalidate.Fence{Scope: s, Soft: soft})
	}
	return e
}

func wantEvents(t *testing.T, got []invalidate.Event, want ...invalidate.Event) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b invalidate.Scope) bool { return a == b })); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A process gets events of its own invalidations and of another process's. They come in order. Earlier
// invalidations of other processes cause none. Without a log it gets those of its own calls.
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
		must(t, w.c[0].Set(t.Context(), 1, "v"))
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

		lone := open(t, cache.TiersConfig{})
		c := with(t, lone, thingConfig{})
		alone, _ := listenTo(lone)
		must(t, errors.Join(c.Set(t.Context(), 1, "v"), c.Delete(t.Context(), 1), c.Expire(t.Context(), 1)))
		wantEvents(t, alone.heard(), event(true, false, key), event(true, false, key), event(true, true, key))
	})
}

// Events of other processes have the scopes of the call: also those of an invalidation that waited for
// the log, of Expire, and of a prefix that ends within an id.
func TestOnInvalidateScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
		link := logtest.NewFaulty(log)
		caller, listener := open(t, cache.TiersConfig{Log: link}), open(t, cache.TiersConfig{Log: log})
		synctest.Wait()
		e, _ := listenTo(listener)
		key, tag, prefix := keyScope(t, 1), invalidate.Tag("acme", "t"), invalidate.Prefix("acme", "users:v1:4")
		want := func(want ...invalidate.Event) {
			t.Helper()
			advance(bound)
			got := e.heard()
			for i := range got {
				slices.SortFunc(got[i].Fences, func(a, b invalidate.Fence) int { return strings.Compare(a.Scope.String(), b.Scope.String()) })
			}
			wantEvents(t, got, want...)
		}
		ctx := t.Context()
		must(t, caller.Invalidate(ctx, key, prefix, tag))
		want(event(false, false, key), event(false, false, prefix, tag))
		must(t, caller.Expire(ctx, key, prefix, tag))
		want(event(false, true, key, prefix, tag))
		must(t, caller.Invalidate(ctx, invalidate.Tenant("acme"), invalidate.All()))
		want(event(false, false, invalidate.All(), invalidate.Tenant("acme")))
		link.Fail(errors.New("unplugged"), logtest.Sync)
		if err := caller.Invalidate(ctx, tag, prefix); err == nil {
			t.Error("no error without a log")
		}
		link.Heal()
		want(event(false, false, prefix, tag))
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
		if !slices.ContainsFunc(got, func(e invalidate.Event) bool {
			return !e.Local && slices.Contains(e.Fences, invalidate.Fence{Scope: invalidate.All()})
		}) {
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
			invalidateTag(t, tiers, "t")
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
			invalidateTag(t, tiers, "t")
			synctest.Wait()
		}
		equal(t, calls, 1, "calls of a listener that stopped itself")
		tiers.OnInvalidate(func(invalidate.Event) {})
		must(t, tiers.Close(t.Context()))
		tiers.OnInvalidate(func(invalidate.Event) { t.Error("called on closed tiers") })()
	})
}

// A listener that calls runtime.Goexit, such as t.FailNow, gets the later events. That is logged
// once.
func TestListenerThatExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		tiers := open(t, cache.TiersConfig{Logger: slog.New(slog.NewTextHandler(&said, nil))})
		calls := 0
		stop := tiers.OnInvalidate(func(invalidate.Event) {
			calls++
			runtime.Goexit()
		})
		for range 2 {
			for range 3 { // some of them wait together
				invalidateTag(t, tiers, "t")
			}
			synctest.Wait()
		}
		equal(t, calls, 6, "calls")
		stop()
		if n := strings.Count(said.String(), "Goexit"); n != 1 {
			t.Errorf("Goexit was logged %d times, want once:\n%s", n, &said)
		}
	})
}
