package collector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/pool"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// childDB makes the test binary a collector on the named database.
const childDB = "COLLECTOR_TEST_DB"

// The exit codes of the child.
const (
	exitOK = iota
	exitFault
	exitCut
)

const ten = 10

// child collects until it is stopped. Its clock stands at noon.
func child(path string) int {
	ctx, kill, _ := collector.Signals(context.Background()) // not stopped: the process ends first
	switch err := collect(ctx, kill, path); {
	case errors.Is(err, pool.ErrCut):
		return exitCut
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return exitFault
	}
	return exitOK
}

func collect(ctx context.Context, kill <-chan struct{}, path string) error {
	db, err := store.Open(context.WithoutCancel(ctx), path, store.Options{Now: func() time.Time { return noon }})
	if err != nil {
		return err
	}
	defer db.Close()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		return err
	}
	client, err := fetch.New(fetch.Config{Tiers: tiers, UserAgent: "CollectorTest/1.0", AllowPrivate: true, PerHost: ten})
	if err != nil {
		return err
	}
	c, err := collector.New(collector.Config{
		Store: db, Tiers: tiers, Fetchers: fetchers.New(fetchers.Config{Client: client}), Log: slog.New(slog.DiscardHandler),
		Settings: collector.Settings{Concurrency: ten, PerHost: ten, Tick: 10 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	return c.Run(ctx, kill)
}

// tenAtOnce returns a process during ten fetches. They end when release is closed.
func tenAtOnce(w *world) (cmd *exec.Cmd, ids []int64, release chan struct{}) {
	w.Helper()
	release = make(chan struct{})
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-release:
			_, _ = io.WriteString(rw, feedOf("a", "b"))
		case <-r.Context().Done():
		}
	}))
	w.Cleanup(s.Close)
	for i := range ten {
		ids = append(ids, w.add("rss", fmt.Sprintf(`{"url":"%s/%d"}`, s.URL, i)))
	}
	exe, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd = exec.Command(exe)
	cmd.Env = append(os.Environ(), childDB+"="+w.path)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = cmd.Process.Kill() }) // in case the test ends first
	w.eventually("ten fetches are under way", func() bool { return asked.Load() == ten })
	return cmd, ids, release
}

// stored checks that each source was fetched once, and its items stored once.
func (w *world) stored(ids []int64) {
	w.Helper()
	for _, id := range ids {
		s := w.state(id)
		if diff := cmp.Diff([]string{"a", "b"}, w.items(id)); diff != "" || s.FetchCount != 1 || s.ErrorCount != 0 || !s.ClaimedUntil.IsZero() {
			w.Errorf("source %d: %+v, items (-want +got):\n%s", id, s, diff)
		}
	}
}

// collectHere fetches the due sources in this process.
func (w *world) collectHere() {
	w.Helper()
	w.once(w.collector(w.real()))
}

// Case 12 with a real process and a real signal, during ten fetches.
func sigterm(t *testing.T) {
	w := newWorld(t)
	cmd, ids, release := tenAtOnce(w)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, want 0: everything was under way to its end", err)
	}
	w.stored(ids)
}

func TestSecondSignalForces(t *testing.T) {
	w := newWorld(t)
	cmd, ids, release := tenAtOnce(w)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	w.eventually("two signals end it", func() bool {
		_ = cmd.Process.Signal(syscall.SIGTERM) // two signals at once may be delivered as one
		select {
		case err := <-done:
			done <- err
			return true
		default:
			return false
		}
	})
	if e, ok := errors.AsType[*exec.ExitError](<-done); !ok || e.ExitCode() != exitCut {
		t.Errorf("it ended with %v, want %d", e, exitCut)
	}
	for _, id := range ids {
		if s := w.state(id); s.FetchCount+s.ErrorCount != 0 || !s.ClaimedUntil.IsZero() {
			t.Errorf("a fetch that was cut left something: %+v", s)
		}
	}
	close(release)
	w.collectHere() // at once, because the leases were returned
	w.stored(ids)
}

// kill -9: the leases are not returned. After they expire, nothing is lost.
func TestKilledProcess(t *testing.T) {
	w := newWorld(t)
	cmd, ids, release := tenAtOnce(w)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	close(release)
	w.collectHere()
	for _, id := range ids {
		if s := w.state(id); s.FetchCount != 0 || s.ClaimedUntil.IsZero() {
			t.Errorf("its lease was good, and yet: %+v", s)
		}
	}
	w.clock.add(time.Hour)
	w.collectHere()
	w.stored(ids)
}
