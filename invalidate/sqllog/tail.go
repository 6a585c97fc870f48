package sqllog

import (
	"context"
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
	heard, stop := l.listen(ctx)
	defer stop()
	for {
		p, err := (&visit{log: l, at: at}).run(ctx)
		if err != nil || len(p.Keys)+len(p.Scopes) > 0 {
			return p, err
		}
		select {
		case <-poll.C:
		case <-l.wake:
		case <-heard:
		case <-patience.C:
			return invalidate.Page{}, nil
		case <-ctx.Done():
			return invalidate.Page{}, ctx.Err()
		}
	}
}

// listen calls Config.Wait, one call at a time, and sends after each. After an error or a panic it
// calls no more, so this Tail only polls. The caller must call stop, which waits for the last call.
func (l *Log) listen(ctx context.Context) (heard chan struct{}, stop func()) {
	if l.cfg.Wait == nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	heard, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = recover() }() // a panic here would end the program
		for l.cfg.Wait(ctx) == nil {
			select {
			case heard <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return heard, func() {
		cancel()
		<-over
	}
}
