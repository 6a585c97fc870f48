package redistest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"
)

// Patience is how long [Eventually] waits for a condition.
const Patience = 20 * time.Second

// Prefix returns a random key prefix of letters and digits, because tests on one server must not
// share keys.
func Prefix() string { return "t" + rand.Text()[:12] }

// Eventually polls check until it returns nil. It fails t with the last error if that takes longer
// than [Patience]. Each try gets a second. Use it for events in another process; test events of
// this process in a testing/synctest bubble.
func Eventually(t testing.TB, what string, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := poll(ctx, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Within calls f, and fails t if it takes longer than limit. Time counts only while this process runs:
// a busy machine may stop it for a second, and a ticker drops the ticks of that second.
func Within(t testing.TB, what string, limit time.Duration, f func() error) error {
	t.Helper()
	const each = 10 * time.Millisecond
	over := make(chan error, 1)
	go func() { over <- f() }()
	tick := time.NewTicker(each)
	defer tick.Stop()
	for range limit / each {
		select {
		case err := <-over:
			return err
		case <-tick.C:
		}
	}
	t.Errorf("%s took longer than %v", what, limit)
	return <-over
}

// permanent ends a poll immediately.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func poll(ctx context.Context, check func(ctx context.Context) error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		err := check(try)
		cancel()
		if _, ok := errors.AsType[permanent](err); err == nil || ok {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		}
	}
}
