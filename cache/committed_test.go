package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// commit puts an invalidation into the log as a database does at COMMIT. No process called
// Invalidate.
func (w *logged) commit(t *testing.T, s invalidate.Scope) {
	t.Helper()
	a := invalidate.Append{Scopes: []invalidate.Fence{s.Fence()}}
	if s.Kind() == invalidate.KindKey {
		a = invalidate.Append{Keys: a.Scopes}
	}
	if _, err := w.log.Sync(t.Context(), invalidate.Cursor{}, a); err != nil {
		t.Fatal(err)
	}
}

// When Settle returns, no process can still serve a value that was invalidated before the call.
// Another process may have a longer lease.
func TestSettle(t *testing.T) {
	for name, widest := range map[string]time.Duration{"one bound": bound, "a wider bound": 3 * bound} {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT})
			slow := logtest.NewFaulty(w.log.Handle(widest))
			other := with(t, open(t, cache.TiersConfig{Log: slow}), thingConfig{
				Load: w.src.load, Tags: tagT,
			})
			advance(widest)
			want := func(v string) {
				t.Helper()
				if got, err := other.Get(t.Context(), 1); err != nil || got != v {
					t.Errorf("the other process reads %q, %v; want %q", got, err, v)
				}
			}
			want("1.1")
			advance(widest)
			slow.Hang(true)
			w.commit(t, invalidate.Tag("default", "t"))
			want("1.1") // the other process cannot know yet
			begun := time.Now()
			must(t, w.tiers[0].Settle(t.Context()))
			if took := time.Since(begun); took < widest || took > widest+widest/1000+10*time.Millisecond {
				t.Errorf("Settle took %v, want the widest bound, %v", took, widest)
			}
			want("1.2")
		})
	}
}

// Settle also waits for this process. It returns the reason when it fails.
func TestSettleFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		advance(time.Second)
		down := errors.New("down")
		w.link[0].Fail(down)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		err := w.tiers[0].Settle(ctx)
		if !errors.Is(err, down) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("Settle without the log = %v, want the log's error and DeadlineExceeded", err)
		}
		w.link[0].Heal()
		advance(bound)
		short, cancel := context.WithTimeout(t.Context(), bound/2)
		defer cancel()
		if err := w.tiers[0].Settle(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Settle with too little time = %v, want DeadlineExceeded", err)
		}
		over := make(chan error)
		go func() { over <- w.tiers[0].Settle(context.WithoutCancel(t.Context())) }()
		advance(bound / 2)
		succeeds(t, w.tiers[0].Close(t.Context()))
		if err := <-over; !errors.Is(err, cache.ErrClosed) {
			t.Errorf("Settle of closed tiers = %v, want ErrClosed", err)
		}
		begun := time.Now()
		if err := open(t, cache.TiersConfig{}).Settle(t.Context()); err != nil || time.Since(begun) != 0 {
			t.Errorf("Settle without a log = %v after %v, want nil at once", err, time.Since(begun))
		}
	})
}

// tableLog is a log that removes cells, as a log in a database does.
type tableLog struct {
	*logtest.Memory
	tier   string
	remove func(context.Context, []string, time.Duration) error
}

func (l *tableLog) UseCells(tier string, remove func(context.Context, []string, time.Duration) error) {
	l.tier, l.remove = tier, remove
}

// A log that removes cells gets a function that removes them from the remote tier.
func TestLogUsesCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		l := &tableLog{Memory: w.log}
		tiers := open(t, cache.TiersConfig{Log: l, Remote: w.wire[1]})
		if l.tier != "memory" {
			t.Errorf("the log knows the remote tier as %q, want the name of the wrapped tier", l.tier)
		}
		w.want(t, 0, 1, "1.1")
		k := keyScope(t, 1)
		must(t, l.remove(t.Context(), []string{k.Text()}, 0))
		if cell, err := w.memory.Get(t.Context(), k.Text()); err != nil || cell != nil {
			t.Errorf("the cell is %x, %v; want none", cell, err)
		}
		succeeds(t, tiers.Close(t.Context()))
		alone := &tableLog{Memory: w.log, tier: "unset"}
		if err := open(t, cache.TiersConfig{Log: alone}).Close(t.Context()); err != nil || alone.tier != "" || alone.remove != nil {
			t.Errorf("without a remote tier the log knows %q and has a function to remove: %v", alone.tier, alone.remove != nil)
		}
	})
}
