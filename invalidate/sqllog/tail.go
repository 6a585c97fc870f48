package sqllog

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Tail waits until there are records after at, and returns them. After a quarter of Bound it
// returns an empty page. It looks every Poll, and also when Config.Wait or [Log.Committed] wakes
// it. It numbers rows immediately, so a writer that died after COMMIT delays its invalidation by
// one Poll.
func (l *Log) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	if err := l.Validate(); err != nil {
		return invalidate.Page{}, err
	}
	l.noteApplied(at)
	p, err := l.tail(ctx, at)
	l.noteAnswer(p)
	return p, fail("tail", err)
}

func (l *Log) tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	poll := time.NewTicker(l.cfg.Poll)
	defer poll.Stop()
	patience := time.NewTimer(l.cfg.Bound / 4)
	defer patience.Stop()
	ear := newEar(ctx, l.cfg.Wait)
	defer ear.close()
	for {
		p, err := (&visit{log: l, at: at}).run(ctx)
		if err != nil || len(p.Keys)+len(p.Scopes) > 0 {
			return p, err
		}
		select {
		case <-poll.C:
		case <-l.wake:
		case err := <-ear.heard:
			ear.again(err)
		case <-patience.C:
			return invalidate.Page{}, nil
		case <-ctx.Done():
			return invalidate.Page{}, ctx.Err()
		}
	}
}

var errWait = errors.New("Config.Wait panicked")

// ear calls Config.Wait for one Tail, one call at a time.
type ear struct {
	wait  func(context.Context) error
	ctx   context.Context // ends with the Tail
	stop  context.CancelFunc
	heard chan error // nil if there is no Config.Wait
	open  bool       // a call is running
}

func newEar(ctx context.Context, wait func(context.Context) error) *ear {
	e := &ear{wait: wait}
	e.ctx, e.stop = context.WithCancel(ctx)
	if wait != nil {
		e.heard = make(chan error, 1)
		e.listen()
	}
	return e
}

func (e *ear) listen() {
	e.open = true
	go func() {
		err := errWait // returned if wait panics
		defer func() {
			_ = recover() // a panic here would end the program
			e.heard <- err
		}()
		err = e.wait(e.ctx)
	}()
}

// again calls wait again. After an error this Tail only polls.
func (e *ear) again(err error) {
	if e.open = false; err == nil {
		e.listen()
	}
}

func (e *ear) close() {
	e.stop()
	if e.open {
		<-e.heard //nolint:errcheck // its context has ended
	}
}
