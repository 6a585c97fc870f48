package redislog

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// ready reports why a call must not go on, or nil.
func (l *Log) ready(ctx context.Context) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.isClosed() {
		return ErrClosed
	}
	return ctx.Err()
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// begin counts an exchange that Close waits for. It returns false after Close.
func (l *Log) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.calls.Add(1)
	}
	return !l.closed
}

// answer is the result of an exchange with the server.
type answer struct {
	page invalidate.Page
	err  error
}

// do runs one exchange, for at most d. It returns when ctx ends, although the exchange may run
// for the rest of d: the client library obeys deadlines, and not cancellation. When ctx has a
// deadline within a quarter of Bound, the exchange runs in the caller's goroutine, and do returns
// at the deadline.
func (l *Log) do(ctx context.Context, d time.Duration, exchange func(context.Context) (invalidate.Page, error)) (invalidate.Page, error) {
	if !l.begin() {
		return invalidate.Page{}, ErrClosed
	}
	run := func(ctx context.Context) (a answer) {
		defer l.calls.Done()
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: adapter.Panicked(p)}
			}
		}()
		a.page, a.err = exchange(ctx)
		return a
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= l.cfg.Bound/4 {
		a := run(ctx) // the deadline is near, and a goroutine costs time
		return a.page, l.cause(ctx, a.err)
	}
	done := make(chan answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		done <- run(ctx)
	}()
	select {
	case a := <-done:
		return a.page, l.cause(ctx, a.err)
	case <-ctx.Done():
		return invalidate.Page{}, ctx.Err()
	}
}

// cause returns the reason why an exchange failed, rather than its effect on the connection.
func (l *Log) cause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if l.isClosed() {
		return ErrClosed
	}
	timeout, ok := errors.AsType[net.Error](err)
	if ok && timeout.Timeout() {
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			<-ctx.Done() // the socket timed out first
			return ctx.Err()
		}
	}
	return err
}
