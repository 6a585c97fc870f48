package logtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

var errBoom = errors.New("boom")

func TestFaultyWithoutFaultsKeepsTheContract(t *testing.T) {
	logtest.TestLogInBubble(t, func(*testing.T) func() invalidate.Log {
		m := memlog.New(memlog.Config{})
		return func() invalidate.Log {
			f := logtest.NewFaulty(m)
			f.Fail(errBoom)
			f.LoseReplies(errBoom)
			f.Delay(time.Hour)
			f.Hang(true)
			f.DropTail(true)
			f.Corrupt(func(invalidate.Page) invalidate.Page { return invalidate.Page{} })
			f.Heal()
			return f
		}
	})
}

// newFaulty returns a log of one record in each sequence, one process's faulty view of it, and
// the cursor at its end.
func newFaulty(t *testing.T) (*memlog.Log, *logtest.Faulty, invalidate.Cursor) {
	t.Helper()
	m := memlog.New(memlog.Config{Bound: 4 * time.Second})
	return m, logtest.NewFaulty(m), end(mustSync(t, m, invalidate.Cursor{}, both(1)))
}

func TestFaultyFail(t *testing.T) {
	m, f, at := newFaulty(t)
	f.Fail(errBoom, logtest.Sync)
	if _, err := f.Sync(t.Context(), at, both(2)); !errors.Is(err, errBoom) {
		t.Errorf("Sync = %v, want %v", err, errBoom)
	}
	if keys, _ := m.Len(); keys != 2 {
		t.Errorf("the failed Sync reached the log")
	}
	if _, err := f.Tail(t.Context(), invalidate.Cursor{}); err != nil {
		t.Errorf("Tail = %v, want nil: only Sync fails", err)
	}
	f.Fail(errBoom)
	if _, err := f.Tail(t.Context(), at); !errors.Is(err, errBoom) {
		t.Errorf("Tail = %v, want %v", err, errBoom)
	}
	f.Fail(nil)
	mustSync(t, f, at, both(2))
	if s, a := f.Calls(logtest.Sync), f.Calls(); s != 2 || a != 4 {
		t.Errorf("Calls = %d syncs of %d, want 2 of 4", s, a)
	}
	if f.ResetCalls(); f.Calls() != 0 {
		t.Errorf("Calls after ResetCalls = %d, want 0", f.Calls())
	}
}

func TestFaultyLoseReplies(t *testing.T) {
	m, f, at := newFaulty(t)
	f.LoseReplies(errBoom)
	page, err := f.Sync(t.Context(), at, both(2))
	if !errors.Is(err, errBoom) || len(page.Keys) > 0 {
		t.Errorf("Sync = %+v, %v; want no page and %v", page, err, errBoom)
	}
	if keys, scopes := m.Len(); keys != 3 || scopes != 3 {
		t.Errorf("log holds %d, %d records, want 3, 3: the append lands", keys, scopes)
	}
	if _, err := f.Tail(t.Context(), at); !errors.Is(err, errBoom) {
		t.Errorf("Tail = %v, want %v", err, errBoom)
	}
}

func TestFaultyDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f, at := newFaulty(t)
		f.Delay(time.Minute, logtest.Sync)
		start := time.Now()
		if mustSync(t, f, at, both(2)); time.Since(start) != time.Minute {
			t.Errorf("Sync took %v, want a minute", time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Sync(ctx, at, both(3)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sync = %v, want %v", err, context.DeadlineExceeded)
		}
		if keys, _ := m.Len(); keys != 3 {
			t.Errorf("log holds %d keys, want 3: the cancelled call must not reach the log", keys)
		}
	})
}

func TestFaultyHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f, at := newFaulty(t)
		f.Hang(true)
		f.Hang(true, logtest.Sync) // again, while it hangs
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := f.Tail(ctx, invalidate.Cursor{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Tail = %v, want %v", err, context.DeadlineExceeded)
		}
		over := make(chan error)
		go func() { _, err := f.Sync(t.Context(), at, both(2)); over <- err }()
		synctest.Wait()
		if keys, _ := m.Len(); keys != 2 {
			t.Errorf("the hanging Sync reached the log")
		}
		f.Heal()
		if err := <-over; err != nil {
			t.Errorf("Sync that was hanging when healed = %v, want nil", err)
		}
	})
}

// A fault also applies to a Tail that is already waiting inside.
func TestFaultsReachATailUnderWay(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault func(f *logtest.Faulty)
		err   error
	}{
		{"fail", func(f *logtest.Faulty) { f.Fail(errBoom) }, errBoom},
		{"lose replies", func(f *logtest.Faulty) { f.LoseReplies(errBoom) }, errBoom},
		{"hang", func(f *logtest.Faulty) { f.Hang(true) }, context.DeadlineExceeded},
		{"deaf", func(f *logtest.Faulty) { f.DropTail(true) }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f, at := newFaulty(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				over := make(chan error)
				go func() {
					page, err := f.Tail(ctx, at)
					if len(page.Keys)+len(page.Scopes) > 0 {
						err = errors.New("records came through")
					}
					over <- err
				}()
				synctest.Wait()
				tc.fault(f)
				mustSync(t, m, at, both(2))
				if err := <-over; !errors.Is(err, tc.err) {
					t.Errorf("Tail = %v, want %v", err, tc.err)
				}
			})
		})
	}
}

func TestFaultyDropTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f, at := newFaulty(t)
		f.DropTail(true)
		start := time.Now()
		page, err := f.Tail(t.Context(), invalidate.Cursor{})
		if err != nil || len(page.Keys) > 0 || time.Since(start) != time.Second {
			t.Errorf("deaf Tail = %+v, %v after %v; want an empty page after 1s", page, err, time.Since(start))
		}
		if got := mustSync(t, f, at, both(2)); len(got.Keys) != 1 {
			t.Errorf("Sync = %+v, want the append: it is not deaf", got)
		}
		f.DropTail(false)
		if page, _ := f.Tail(t.Context(), at); len(page.Keys) != 1 {
			t.Errorf("Tail = %+v, want the append", page)
		}
	})
}

func TestFaultyCorrupt(t *testing.T) {
	m, f, _ := newFaulty(t)
	f.Corrupt(func(p invalidate.Page) invalidate.Page {
		last := &p.Keys[len(p.Keys)-1]
		last.Damaged, last.Fences = true, nil
		return p
	})
	page := mustSync(t, f, invalidate.Cursor{}, invalidate.Append{})
	if r := page.Keys[1]; !r.Damaged || r.Fences != nil {
		t.Errorf("record = %+v, want it damaged", r)
	}
	if keys, _ := m.Records(); keys[1].Damaged || len(keys[1].Fences) != 1 {
		t.Errorf("the log itself holds %+v, want it sound", keys[1])
	}
}

func TestFaultyHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f, at := newFaulty(t)
		var before []logtest.Op
		f.Before(func(_ context.Context, op logtest.Op, _ invalidate.Append) { before = append(before, op) })
		landed, release := make(chan struct{}), make(chan struct{})
		f.After(func(_ context.Context, op logtest.Op, a invalidate.Append) {
			if op == logtest.Sync && len(a.Keys) > 0 {
				close(landed)
				<-release
			}
		})
		over := make(chan invalidate.Page)
		go func() { over <- mustSync(t, f, at, both(2)) }()
		<-landed // the reply is on the wire
		mustSync(t, m, at, both(3))
		close(release)
		if page := <-over; len(page.Keys) != 1 || page.Keys[0].Fences[0] != keyFence(2)[0] {
			t.Errorf("the reply that was held = %+v, want the log as it was then", page)
		}
		_, _ = f.Tail(t.Context(), at)
		if len(before) != 2 || before[0] != logtest.Sync || before[1] != logtest.Tail {
			t.Errorf("Before saw %v, want a Sync and a Tail", before)
		}
		f.After(func(context.Context, logtest.Op, invalidate.Append) { t.Error("After of a call that never arrived") })
		f.Fail(errBoom)
		_, _ = f.Sync(t.Context(), at, both(4))
	})
}
