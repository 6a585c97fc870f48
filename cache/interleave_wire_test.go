package cache_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// logWire is the log as one process reaches it. Each message takes a moment, also one that the
// log sends by itself. A message that is new to the process adds a line to the story.
type logWire struct {
	p     *logProcess
	names *names
}

func (w logWire) Bound() time.Duration { return w.p.loglink.Bound() }

func (w logWire) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	what := w.names.list(slices.Concat(a.Keys, a.Scopes))
	if what == "" {
		w.p.pace.wait(ctx)
	}
	if err := nap(ctx, w.p.wire*7/10); err != nil {
		return invalidate.Page{}, err
	}
	page, err := w.p.loglink.Sync(ctx, at, a)
	if what != "" && w.p.losing.Swap(false) {
		page, err = invalidate.Page{}, errLost
	}
	if what != "" {
		w.p.ear.missed(w.p, what, err)
	}
	if err == nil {
		w.p.ear.hear(w.p, w.names, page)
	}
	return page, err
}

func (w logWire) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	page, err := w.p.loglink.Tail(ctx, at)
	if err == nil && len(page.Keys)+len(page.Scopes) > 0 {
		if err := nap(ctx, w.p.wire/3); err != nil {
			return invalidate.Page{}, err
		}
		w.p.ear.hear(w.p, w.names, page)
	}
	return page, err
}

// pace delays renewals, which may come at any time, to quarters of a second. So they do not come
// during the few milliseconds of a command. A call that waits for a renewal gets it at once.
type pace struct {
	mu    sync.Mutex    // protects the rest
	busy  int           // running calls
	hurry chan struct{} // closed when a call begins
}

func (p *pace) wait(ctx context.Context) {
	p.mu.Lock()
	at := time.Now()
	if p.busy > 0 {
		p.mu.Unlock()
		return
	}
	if p.hurry == nil {
		p.hurry = make(chan struct{})
	}
	hurry := p.hurry
	p.mu.Unlock()
	const quarter = 250 * time.Millisecond
	t := time.NewTimer(at.Add(quarter - 1).Truncate(quarter).Sub(at))
	defer t.Stop()
	select {
	case <-t.C:
	case <-hurry:
	case <-ctx.Done():
	}
}

// call marks a call as running until over is called.
func (p *pace) call() (over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy++
	if p.hurry != nil {
		close(p.hurry)
		p.hurry = nil
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.busy--
	}
}

// logGate is the log behind a gate. It reports each append when it happens, even if the answer
// is lost.
type logGate struct {
	g      *gate
	log    *logtest.Memory
	names  *names
	outbox *outbox
}

func (l logGate) Bound() time.Duration { return l.log.Bound() }

func (l logGate) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	if err := l.catchUp(ctx); err != nil {
		return invalidate.Page{}, err
	}
	what := l.names.list(slices.Concat(a.Keys, a.Scopes))
	ask := func(ctx context.Context) (invalidate.Page, error) {
		bumps := l.log.Bumps()
		page, err := l.log.Sync(ctx, at, a)
		if l.log.Bumps() > bumps && l.g.p.ear.open.Load() {
			l.g.p.env.Printf("the log begins a new epoch")
		}
		if err == nil && what != "" {
			l.g.p.env.Printf("%s appends %s", l.g.p.name, what)
		}
		return page, err
	}
	back := func(ctx context.Context) (invalidate.Page, error) { return pass(ctx, l.g, "sync", true, ask) }
	if what == "" {
		return back(ctx)
	}
	return pass(ctx, l.g, "append", false, repeat(l.g, "append", back))
}

func (l logGate) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	l.g.awake()
	page, err := l.log.Tail(ctx, at)
	l.g.hush(ctx)
	l.g.awake()
	return page, err
}
