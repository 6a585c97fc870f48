package history_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
)

const second = int64(time.Second)

var oneSecond = history.Rules{Bound: time.Second}

// read returns a read of key 1 by a process, with its start and the returned version.
func read(proc uint8, start, version int64) history.Event {
	return history.Event{
		Type: history.Read, Tier: history.Local, Proc: proc, Key: 1,
		Version: version, Start: start, End: start + 10,
	}
}

// ack returns an invalidation of key 1 by a process, which returns nil at the time end.
func ack(proc uint8, end, version int64) history.Event {
	return history.Event{
		Type: history.Acked, Kind: history.Tag, Proc: proc, Key: 1, Op: uint32(end),
		Version: version, Start: end - 10, End: end,
	}
}

func as(e history.Event, change func(*history.Event)) history.Event {
	change(&e)
	return e
}

func TestCheck(t *testing.T) {
	// The tolerated error of the clock is allowed, and no more.
	limit := second + second/10_000
	for _, tc := range []struct {
		name              string
		events            []history.Event
		rules             history.Rules
		stale, violations int
	}{
		{"nothing", nil, oneSecond, 0, 0},
		{"new value", []history.Event{ack(1, 100, 8), read(2, 5*second, 8)}, oneSecond, 0, 0},
		{"newer value", []history.Event{ack(1, 100, 8), read(2, 5*second, 9)}, oneSecond, 0, 0},
		{"old value before the invalidation", []history.Event{ack(1, 100, 8), read(2, 50, 7)}, oneSecond, 0, 0},
		{"old value at the very end of the invalidation", []history.Event{ack(1, 100, 8), read(2, 100, 7)}, oneSecond, 0, 0},
		{"old value within the bound", []history.Event{ack(1, 100, 8), read(2, 101, 7)}, oneSecond, 1, 0},
		{"old value at the bound", []history.Event{ack(1, 100, 8), read(2, 100+limit, 7)}, oneSecond, 1, 0},
		{"old value past the bound", []history.Event{ack(1, 100, 8), read(2, 101+limit, 7)}, oneSecond, 1, 1},
		{"old value in the process that invalidated", []history.Event{ack(1, 100, 8), read(1, 101, 7)}, oneSecond, 1, 1},
		{
			"the same, after another process's invalidation",
			[]history.Event{ack(1, 100, 8), ack(2, 90, 8), read(1, 101, 7)},
			oneSecond, 1, 1,
		},
		{
			"a read that began before the invalidation and ended long after",
			[]history.Event{ack(1, 100, 8), as(read(2, 99, 7), func(e *history.Event) { e.End = 9 * second })},
			oneSecond, 0, 0,
		},
		{"own process, allowed some", []history.Event{ack(1, 100, 8), read(1, 101, 7)}, history.Rules{Bound: time.Second, Own: 1}, 1, 0},
		{"own process, more than that", []history.Event{ack(1, 100, 8), read(1, 102, 7)}, history.Rules{Bound: time.Second, Own: 1}, 1, 1},
		{"settled, at the end", []history.Event{ack(1, 100, 8), read(2, 100, 7)}, history.Rules{Bound: time.Second, Settled: true}, 0, 0},
		{"settled, a moment later", []history.Event{ack(1, 100, 8), read(2, 101, 7)}, history.Rules{Bound: time.Second, Settled: true}, 1, 1},
		{
			"a read that asked for less than the bound, and got it",
			[]history.Event{ack(1, 100, 8), as(read(2, 1100, 7), func(e *history.Event) { e.MaxAge = 1000 })},
			oneSecond, 1, 0,
		},
		{
			"a read that asked for less than the bound, in vain",
			[]history.Event{ack(1, 100, 8), as(read(2, 1101, 7), func(e *history.Event) { e.MaxAge = 1000 })},
			oneSecond, 1, 1,
		},
		{
			"a read that asked for more than the bound",
			[]history.Event{ack(1, 100, 8), as(read(2, 101+limit, 7), func(e *history.Event) { e.MaxAge = 9 * second })},
			oneSecond, 1, 1,
		},
		{
			"failed invalidation",
			[]history.Event{as(ack(1, 100, 8), func(e *history.Event) { e.Type = history.Refused }), read(2, 9*second, 7)},
			oneSecond, 0, 0,
		},
		{
			"failed read",
			[]history.Event{ack(1, 100, 8), as(read(2, 9*second, 0), func(e *history.Event) { e.Type = history.NoRead })},
			oneSecond, 0, 0,
		},
		{
			"another key",
			[]history.Event{ack(1, 100, 8), as(read(2, 9*second, 7), func(e *history.Event) { e.Key = 2 })},
			oneSecond, 0, 0,
		},
		{
			"a later version was acknowledged earlier",
			[]history.Event{ack(1, 5*second, 8), ack(3, 100, 9), read(2, 4*second, 7)},
			oneSecond, 1, 1,
		},
		{
			"out of order in the file",
			[]history.Event{read(2, 3*second, 8), read(2, 1, 7), ack(3, 2*second, 9), ack(1, 100, 8), read(2, 3*second+1, 7)},
			oneSecond, 2, 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := history.Check(slices.Clone(tc.events), tc.rules)
			measured := v.ByTier[history.Local]
			if v.Stale != tc.stale || len(measured) != tc.stale || len(v.Violations) != tc.violations {
				t.Errorf("%d stale, %d measured, %d violations; want %d, %d, %d",
					v.Stale, len(measured), len(v.Violations), tc.stale, tc.stale, tc.violations)
			}
		})
	}
}

// A checker that never fires proves nothing. This history has a cache that keeps its values for
// three seconds, and healthy ones beside it.
func TestCheckBrokenHistory(t *testing.T) {
	events := broken(3*second, 20)
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	v := history.Check(events, oneSecond)
	// The stale reads come every tenth of a second for three seconds. Those from 1.1 to 3.0 s are
	// too late: 20 for each invalidation.
	if got, want := len(v.Violations), 20*20; got != want {
		t.Fatalf("%d violations, want %d", got, want)
	}
	if got, want := v.Violations[0].Read.Start, second+second/10; got != want {
		t.Errorf("first violation at %d, want %d", got, want)
	}
	if got, want := slices.Max(v.ByTier[history.Local]), 3*second; got != want {
		t.Errorf("staleness of at most %d, want %d", got, want)
	}
	if got, want := len(v.ByTier[history.Local]), 20*30; got != want {
		t.Errorf("%d stale reads of the local tier, want %d", got, want)
	}
	if got, want := len(v.ByKind[history.Tag]), 20*30; got != want {
		t.Errorf("%d stale reads after an invalidation by tag, want %d", got, want)
	}
	if v := history.Check(broken(second, 20), oneSecond); len(v.Violations) > 0 {
		t.Errorf("%d violations of a cache that is as late as it may be", len(v.Violations))
	}
}

// broken returns a history in which process 2 returns the old version for keep. Processes 1 and 3
// never return an old version.
func broken(keep int64, invalidations int) []history.Event {
	var events []history.Event
	for i := range int64(invalidations) {
		at := i * 10 * second
		events = append(events, ack(1, at, i+2))
		for tick := second / 10; tick < 10*second; tick += second / 10 {
			version := i + 2
			if tick <= keep {
				version--
			}
			events = append(events, read(2, at+tick, version), read(1, at+tick, i+2), read(3, at+tick, i+2))
		}
	}
	return events
}

func TestCheckCounts(t *testing.T) {
	several := ack(1, 100, 8) // one call that covers two keys
	other := as(several, func(e *history.Event) { e.Key = 2 })
	refused := as(ack(1, 300, 9), func(e *history.Event) { e.Type = history.Refused })
	v := history.Check([]history.Event{
		several, other, refused, read(2, 100, 8),
		as(read(2, 50, 0), func(e *history.Event) { e.Type = history.NoRead }),
		{Type: history.Ping, Start: 5, End: 9},
	}, oneSecond)
	if v.Reads != 1 || v.Failed != 1 || v.Acks != 1 || v.Refusals != 1 {
		t.Errorf("%d reads, %d failed, %d acks, %d refusals; want 1 of each", v.Reads, v.Failed, v.Acks, v.Refusals)
	}
	if !slices.Equal(v.Invalidation, []int64{10}) || !slices.Equal(v.PingTime, []int64{4}) {
		t.Errorf("durations %v and %v, want [10] and [4]", v.Invalidation, v.PingTime)
	}
}

// A violation names the earliest acknowledgement, and whether the reader's own process invalidated.
func TestViolationContext(t *testing.T) {
	v := history.Check([]history.Event{ack(2, 300, 9), ack(1, 200, 8), read(2, 400, 7)}, oneSecond)
	if len(v.Violations) != 1 {
		t.Fatalf("%d violations, want 1", len(v.Violations))
	}
	got := v.Violations[0]
	if !got.Own || got.Ack.Version != 9 || got.Staleness != 100 {
		t.Errorf("own %v, version %d, staleness %d; want true, 9, 100", got.Own, got.Ack.Version, got.Staleness)
	}
	if measured := v.ByTier[history.Local]; measured[0] != 200 {
		t.Errorf("staleness measured as %d, want 200, since the earliest", measured[0])
	}
}

// In a run with expiries only, a read reported as stale is correct; any other read is judged.
func TestSoftReads(t *testing.T) {
	for _, stale := range []bool{false, true} {
		v := history.Check([]history.Event{
			{Type: history.Acked, Kind: history.Tag, Key: 1, Op: 1, Version: 8, End: 1e6},
			{Type: history.Read, Tier: history.Local, Proc: 1, Key: 1, Version: 7, Stale: stale, Start: 3e9, End: 4e9},
		}, history.Rules{Bound: time.Second, Soft: true})
		if violated := len(v.Violations) > 0; violated == stale {
			t.Errorf("stale: %v, violated: %v", stale, violated)
		}
	}
}
