package redistier

import (
	"context"
	"sync"
	"time"
)

// Reads that come while enough others are on their way gather until one of those
// lands, and leave together in one MGET: group commit, for reads. While there
// are few, each is sent as it comes, and costs no more than a GET.
//
// A pipeline of GETs would say which key is no string, where MGET says none; but a
// command costs the client more than a key, and the claim that comes next says it, too.
// go-redis has pipelining of its own. It is not used because a command in it
// outlives its caller's deadline, and because it is marked experimental (v9.23).
const (
	// lanes is how many messages are under way before reads gather. Fewer lanes
	// are longer waits, a share of a round trip, and more keys in each.
	lanes = 4

	// longest is how many reads leave together at most, and so how many one
	// large value can hold up.
	longest = 64

	// patience is how long a batch gathers, unless nobody comes to notice: where
	// round trips are long, more lanes are better than waiting.
	patience = time.Millisecond
)

// merger decides who leaves when. The zero merger is ready.
type merger struct {
	mu    sync.Mutex // protects what follows
	taken int        // lanes
	next  *batch     // what gathers, or nil
}

// batch is some reads that leave together.
type batch struct {
	since time.Time // when the first came
	reads []read    // complete when the batch leaves
	done  chan struct{}
}

// read is the call of one caller, who takes frame and err when the batch is done.
type read struct {
	ctx   context.Context //nolint:containedctx // of the call, which waits for it
	key   string          // of the cell, as Redis knows it
	frame []byte
	err   error
}

// enter takes a lane for the caller and returns no batch; or it lets the caller
// wait in a batch, for the i-th read. A batch that leaves now is the caller's to
// drive, too.
func (m *merger) enter(ctx context.Context, key string) (in *batch, i int, leaves bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.taken < lanes {
		m.taken++
		return nil, 0, false
	}
	if m.next == nil {
		m.next = &batch{since: time.Now(), done: make(chan struct{})}
	}
	in, i = m.next, len(m.next.reads)
	in.reads = append(in.reads, read{ctx: ctx, key: key})
	if leaves = len(in.reads) == longest || time.Since(in.since) > patience; leaves {
		m.taken++
		m.next = nil
	}
	return in, i, leaves
}

// leave gives a lane back, or returns the batch that it is for next.
func (m *merger) leave() *batch {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.next
	if m.taken > lanes || b == nil {
		m.taken--
		return nil
	}
	m.next = nil
	return b
}

// wait returns what came for the i-th read, unless its caller's time is over
// before.
func (b *batch) wait(ctx context.Context, i int) ([]byte, error) {
	select {
	case <-b.done:
		return b.reads[i].frame, b.reads[i].err
	case <-ctx.Done():
		return nil, fail("get", ctx.Err()) // the read is the batch's now
	}
}

// drive sends one batch after the other over a lane, until nobody waits for it.
func (t *Tier) drive(b *batch) {
	for b != nil {
		t.send(b)
		close(b.done)
		b = t.merger.leave()
	}
}

// send asks for those reads of a batch whose callers still wait.
func (t *Tier) send(b *batch) {
	keys, asked := make([]string, 0, len(b.reads)), make([]*read, 0, len(b.reads))
	for i := range b.reads {
		if r := &b.reads[i]; r.ctx.Err() == nil {
			keys, asked = append(keys, r.key), append(asked, r)
		}
	}
	if len(asked) == 0 {
		return
	}
	ctx, cancel := together(asked)
	defer cancel()
	frames := make([][]byte, len(keys))
	err := t.mget(ctx, "get", keys, frames)
	for i, r := range asked {
		if r.frame = frames[i]; r.frame == nil {
			r.err = err
		}
	}
}

// together returns a context that ends when the last of the reads would have
// ended. Its values, such as the span that a tracer of the client looks for, are
// those of the first.
func together(reads []*read) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(reads[0].ctx)
	var last time.Time
	for _, r := range reads {
		d, ok := r.ctx.Deadline()
		if !ok {
			return ctx, func() {}
		}
		if d.After(last) {
			last = d
		}
	}
	return context.WithDeadline(ctx, last)
}
