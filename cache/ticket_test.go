package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A service writes, and calls another one with a ticket. That one has not heard of the write: its tail hangs. With the
// ticket it answers with the new value, and without it with the old one, within the bound.
func TestTickets(t *testing.T) {
	for name, write := range map[string]func(w *duo, ctx context.Context) error{
		"Delete":     func(w *duo, ctx context.Context) error { return w.c[0].Delete(ctx, 1) },
		"Set":        func(w *duo, ctx context.Context) error { return w.c[0].Set(ctx, 1, "new") },
		"SetMany":    func(w *duo, ctx context.Context) error { return w.c[0].SetMany(ctx, map[int]string{1: "new"}) },
		"DeleteMany": func(w *duo, ctx context.Context) error { return w.c[0].DeleteMany(ctx, []int{1, 2}) },
		"tag": func(w *duo, ctx context.Context) error {
			return w.tiers[0].Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, "t"))
		},
		"prefix": func(w *duo, ctx context.Context) error {
			return w.tiers[0].Invalidate(ctx, invalidate.Prefix(cache.DefaultTenant, "things:"))
		},
		"everything": func(w *duo, ctx context.Context) error { return w.tiers[0].Invalidate(ctx, invalidate.All()) },
	} {
		bubble(t, name, func(t *testing.T) {
			w, value, ctx := ticketed(t)
			*value = "new"
			must(t, write(w, ctx))
			ticket := w.tiers[0].Ticket() // the reader may have asked the log something at this very moment
			equal(t, get(t, w.c[1], 1), "old", "a Get without the ticket")
			v, err := w.c[1].GetOrLoad(ctx, 1, nil, cache.AtLeast(ticket))
			must(t, err)
			equal(t, v, "new", "a read with the ticket")
			equal(t, get(t, w.c[1], 1), "new", "a Get after it")
			calls := w.link[1].Calls(logtest.Sync)
			m, err := w.c[1].GetMany(ctx, []int{1}, cache.AtLeast(ticket))
			must(t, err)
			equal(t, m[1], "new", "GetMany with the ticket")
			must(t, w.tiers[1].ReadyFor(ctx, ticket))
			equal(t, w.link[1].Calls(logtest.Sync), calls, "questions to the log, when the ticket is known")
		})
	}
}

// ticketed returns two processes that hold the value of key 1, and where their source has it. The tail of the second
// hears nothing.
func ticketed(t *testing.T) (w *duo, value *string, ctx context.Context) {
	value = new("old")
	w = newLogged(t, thingConfig{
		Tags: tagT, Policy: patch{TTL: new(time.Hour)},
		Load: func(context.Context, int) (string, error) { return *value, nil },
	})
	w.link[1].DropTail(true)
	for i := range w.tiers {
		must(t, w.tiers[i].Ready(t.Context()))
		w.want(t, i, 1, "old")
	}
	return w, value, t.Context()
}

// Whatever is wrong with the log, a read with a ticket answers with the new value.
func TestTicketsAndTheLog(t *testing.T) {
	for name, tt := range map[string]struct {
		harm  func(w *duo)
		err   error // of ReadyFor
		loads bool  // each read asks the source
	}{
		"it hangs":           {func(w *duo) { w.link[1].Hang(true) }, context.DeadlineExceeded, true},
		"it fails":           {func(w *duo) { w.link[1].Fail(errDown) }, context.DeadlineExceeded, true},
		"it has another end": {func(w *duo) { w.log.Delete() }, nil, false},
		"it restarts":        {func(w *duo) { w.log.Restart() }, nil, false},
		"it was trimmed":     {func(w *duo) { w.log.Trim(1) }, nil, false},
	} {
		bubble(t, name, func(t *testing.T) {
			w, value, ctx := ticketed(t)
			*value = "new"
			must(t, w.c[0].Delete(ctx, 1))
			ticket := w.tiers[0].Ticket()
			tt.harm(w)
			for range 2 {
				v, err := w.c[1].GetOrLoad(ctx, 1, nil, cache.AtLeast(ticket))
				must(t, err)
				equal(t, v, "new", "a read with the ticket")
			}
			if n := total(w.tiers[1]).Loads.Calls; tt.loads != (n == 2) {
				t.Errorf("%d loads", n)
			}
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if err := w.tiers[1].ReadyFor(short, ticket); !errors.Is(err, tt.err) {
				t.Errorf("ReadyFor: %v, want %v", err, tt.err)
			}
			w.link[1].Heal()
			advance(bound)
			synctest.Wait()
		})
	}
}

// What is no ticket is an error. What nobody can know is loaded.
func TestOddTickets(t *testing.T) {
	bubble(t, "logged", func(t *testing.T) {
		w, value, ctx := ticketed(t)
		good := w.tiers[0].Ticket()
		parts := strings.Split(good, "-")
		for name, text := range map[string]string{
			"words": "now", "a part less": "1-2", "a part more": good + "-1", "a zero more": "0" + good, "a space": good + " ", "upper case": "A-B-C",
			"a sign": "-" + good, "too large": "1-2-" + strings.Repeat("f", 17),
		} {
			_, err := w.c[0].GetOrLoad(ctx, 1, nil, cache.AtLeast(text))
			if _, many := w.c[0].GetMany(ctx, []int{1}, cache.AtLeast(text)); !errors.Is(err, cache.ErrOption) || !errors.Is(many, cache.ErrOption) {
				t.Errorf("%s: %v, %v; want ErrOption", name, err, many)
			}
			if err := w.tiers[0].ReadyFor(ctx, text); !errors.Is(err, cache.ErrOption) {
				t.Errorf("%s: ReadyFor: %v, want ErrOption", name, err)
			}
		}
		if err := w.c[0].Set(ctx, 1, "x", cache.AtLeast(good)); !errors.Is(err, cache.ErrOption) || !strings.Contains(err.Error(), "AtLeast") {
			t.Errorf("Set with AtLeast: %v", err)
		}
		loads := total(w.tiers[0]).Loads.Calls
		for _, ticket := range []string{good, "", "1" + good[1:]} { // known, nothing, another epoch
			v, err := w.c[0].GetOrLoad(ctx, 1, nil, cache.AtLeast(ticket))
			must(t, err)
			equal(t, v, "old", "a read with a ticket")
			must(t, w.tiers[0].ReadyFor(ctx, ticket))
		}
		equal(t, total(w.tiers[0]).Loads.Calls, loads, "loads")
		future := parts[0] + "-ffffffffffff-" + parts[2]
		if err := w.tiers[0].ReadyFor(ctx, future); !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("ReadyFor of a position that the log does not have: %v, want ErrUnavailable", err)
		}
		*value = "loaded"
		v, err := w.c[0].GetOrLoad(ctx, 1, nil, cache.AtLeast(future), cache.MaxAge(time.Hour))
		must(t, err)
		equal(t, v, "loaded", "a read with a position that the log does not have")
	})
	bubble(t, "no log", func(t *testing.T) {
		w := newDuo(t, paired, cache.TiersConfig{}, thingConfig{}, asIs)
		equal(t, w.tiers[0].Ticket(), "", "a ticket without a log")
		play := func(ticket string) string {
			v, err := w.c[0].GetOrLoad(t.Context(), 1, nil, cache.AtLeast(ticket))
			must(t, err)
			return v
		}
		equal(t, play("")+play("")+play("1-2-3"), "1.11.11.2", "reads")
	})
}

// A read with little time leaves half of it to the source.
func TestTicketsAndShortDeadlines(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, value, ctx := ticketed(t)
		*value = "new"
		must(t, w.c[0].Delete(ctx, 1))
		w.link[1].Hang(true)
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		begun := time.Now()
		v, err := w.c[1].GetOrLoad(short, 1, nil, cache.AtLeast(w.tiers[0].Ticket()))
		must(t, err)
		equal(t, v, "new", "a read with the ticket")
		equal(t, time.Since(begun).Round(time.Millisecond), 50*time.Millisecond, "its time")
		w.link[1].Heal()
		advance(bound)
		synctest.Wait()
	})
}
