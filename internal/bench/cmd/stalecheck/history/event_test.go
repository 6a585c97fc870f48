package history_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	rec, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	want := history.Event{
		Type: history.Acked, Tier: history.Load, Kind: history.Prefix, Stale: true, Level: 2, Key: 513, Op: 1 << 20,
		Version: 1 << 40, Start: 1 << 41, End: 1 << 42, Age: -7, MaxAge: 1 << 43,
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				rec.Add(want, want)
			}
		})
	}
	wg.Wait()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := history.ReadFile(path, 3, false)
	if err != nil {
		t.Fatal(err)
	}
	want.Proc = 3
	if len(got) != 8000 || slices.ContainsFunc(got, func(e history.Event) bool { return e != want }) {
		t.Errorf("%d events, first %+v; want 8000 of %+v", len(got), got[0], want)
	}
}

// A worker that died while writing must not look like one that had no events.
func TestFileRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	rec, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	rec.Add(read(1, 5, 1), read(1, 6, 1))
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	half := len(whole) / 2
	for name, data := range map[string][]byte{
		"truncated": whole[:len(whole)-1],
		"no type":   append(slices.Clone(whole[:half]), make([]byte, half)...),
		"shifted":   append([]byte{9}, whole[:len(whole)-1]...),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := history.ReadFile(path, 1, false); err == nil {
			t.Errorf("%s: %d events and no error", name, len(got))
		}
		// The file of a killed worker may end in the middle of an event.
		got, err := history.ReadFile(path, 1, true)
		if name == "truncated" && (err != nil || len(got) != 1) {
			t.Errorf("%s, killed: %d events and %v, want 1 and nil", name, len(got), err)
		} else if name != "truncated" && err == nil {
			t.Errorf("%s, killed: %d events and no error", name, len(got))
		}
	}
}

func TestRecorderReportsErrors(t *testing.T) {
	if _, err := history.Create(filepath.Join(t.TempDir(), "none", "events")); err == nil {
		t.Errorf("Create in a directory that is not there: no error")
	}
	rec, err := history.Create("/dev/full")
	if err != nil {
		t.Skip("needs /dev/full")
	}
	rec.Add(read(1, 5, 1))
	if err := rec.Close(); err == nil {
		t.Errorf("Close after events that could not be written: no error")
	}
}

func TestLags(t *testing.T) {
	l := history.Lags([]history.Event{
		ack(1, 100, 8), ack(1, 1000, 9), ack(1, 5000, 10),
		read(1, 101, 8), // the process that invalidated is not counted
		read(2, 50, 7),
		read(2, 290, 9), // before it was acknowledged, with the newer version
		read(2, 140, 7),
		read(2, 190, 8),
		read(3, 90, 8), // before version 8 was acknowledged
		read(3, 2000, 8),
		read(3, 6000, 8), // and never anything newer
	})
	if want := []int64{0, 0, 100}; !slices.Equal(l.FromAck, want) {
		t.Errorf("FromAck = %v, want %v", l.FromAck, want)
	}
	if want := []int64{0, 10, 110}; !slices.Equal(l.FromCall, want) {
		t.Errorf("FromCall = %v, want %v", l.FromCall, want)
	}
	// A process that began after the invalidation has nothing to learn from it.
	if l := history.Lags([]history.Event{ack(1, 100, 8), read(2, 101, 8)}); len(l.FromAck) != 0 {
		t.Errorf("FromAck = %v for a process that began later, want none", l.FromAck)
	}
}
