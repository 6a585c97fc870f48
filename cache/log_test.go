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

const bound = 2 * time.Second

// After one process invalidates a value by any scope, the other refuses it from either tier, as
// soon as the record has arrived.
func TestInvalidationReachesOthers(t *testing.T) {
	play(t, scene{on: logged, steps: `
		a gets 1.1; b gets 1.1; a invalidates SCOPE; a gets 1.2; wait 5ms; b gets 1.2; loads 2`})
}

// A process that is cut off from the log serves its cached values until its lease runs out, and
// no longer. After that it keeps its loads to itself, and serves them for a bound.
func TestLeaseRunsOut(t *testing.T) {
	play(t, scene{on: logged, steps: `
		b gets 1.1; a gets 1.1; wait 6s; b gets 1.1; b's log fails; a invalidates key; b gets 1.1; wait 2s; b gets 1.2 load; b gets 1.2
		wait 2s; b gets 1.3; b counts Lapses=1 Fills=1; b's log well; wait 2s; a gets 1.4; b gets 1.4`})
}

// While the log is unreachable, an invalidation applies in this process, is reported as pending,
// and is sent when the log is back.
func TestPendingInvalidation(t *testing.T) {
	play(t, scene{on: logged, steps: `
		a gets 1.1; b gets 1.1; a's log fails; a deletes pending; a gets 1.2; a counts Pending=1
		a's log well; wait 2s; b gets 1.3; a counts Pending=0`})
}

// When Strict returns, no process can serve the old value.
func TestStrict(t *testing.T) {
	play(t, scene{on: logged, steps: `
		b gets 1.1; wait 2s; b's log hangs; a invalidates key strict; took 2s-2.01s; b gets 1.2; a invalidates tag strict late timeout=1s`})
}

// Settle also waits for this process. It returns the reason when it fails.
func TestSettleFails(t *testing.T) {
	play(
		t,
		scene{name: "a log", on: logged, steps: `
			wait 1s; a's log fails; a settles late down unavailable timeout=2s; a's log well; wait 2s; a settles late timeout=1s
			go a settles closed; wait 1s; a closes`},
		scene{name: "no log", steps: "a settles; took 0s"},
	)
}

// Ready waits for the log's first answer. When its context ends, it returns the reason.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := logtest.NewFaulty(logtest.NewMemory(logtest.MemoryConfig{Bound: bound}))
		down := errors.New("down")
		link.Fail(down)
		tiers := open(t, cache.TiersConfig{Log: link})
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		if err := tiers.Ready(ctx); !errors.Is(err, down) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ready = %v, want the log's error and DeadlineExceeded", err)
		}
		time.AfterFunc(bound, link.Heal)
		begun := time.Now()
		if err := tiers.Ready(t.Context()); err != nil || time.Since(begun) > bound+time.Second+bound/20 {
			t.Errorf("Ready = %v after %v", err, time.Since(begun))
		}
		succeeds(t, tiers.Close(t.Context()))
		fails(t, tiers.Ready(t.Context()), cache.ErrClosed, "Ready after Close")
		succeeds(t, open(t, cache.TiersConfig{}).Ready(t.Context()))
	})
}

// A fleet restarts on a new log, for example on another server, and old cells survive. The new
// epochs may have lower numbers than those in the cells. A value that is invalidated now must be
// gone in every process.
func TestSurvivingCellsOfALostLog(t *testing.T) {
	for name, scope := range map[string]invalidate.Scope{
		"key": keyScope(t, 1), "tag": invalidate.Tag("default", "t"), "prefix": invalidate.Prefix("default", "things:"),
	} {
		bubble(t, name, func(t *testing.T) {
			cfg := thingConfig{Tags: tagT}
			w := newLogged(t, cfg)
			for range 5 { // the next log will have far lower numbers
				w.log.Restart()
				advance(bound)
			}
			w.want(t, 0, 1, "1.1")
			cell := cellOf(t, w.memory, cell1)
			for i := range w.tiers {
				must(t, w.tiers[i].Close(t.Context()))
			}
			w.log.Delete()
			cfg.Load = w.src.load
			for i := range w.tiers {
				w.tiers[i] = open(t, cache.TiersConfig{Remote: w.wire[i], Log: w.link[i]})
				w.c[i] = with(t, w.tiers[i], cfg)
			}
			synctest.Wait()
			w.invalidate(t, 0, scope, invalidate.Strict)
			store(t, w.memory, cell1, cell, time.Hour) // the node that held the cell comes back with it
			w.want(t, 0, 1, "1.2")
			w.want(t, 1, 1, "1.2")
			equal(t, w.tiers[0].Stats().Total.CellsRefused, 1, "refused cells")
		})
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
				equal(t, get(t, other, 1), v, "the other process reads")
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
