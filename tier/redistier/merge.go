package redistier

import (
	"context"
	"sync"
	"time"
)

// Reads are merged by group commit. While enough reads are running, later reads gather in a
// batch. When one of the running reads returns, the batch leaves in one MGET. While few reads
// run, each is sent immediately, and costs no more than a GET.
//
// A pipeline of GETs would tell which key is not a string, where MGET returns nil. But a command
// costs the client more than a key, and the claim that follows reports the wrong type, too.
// go-redis has a pipelining mode of its own. It is not used because its commands outlive their
// callers' deadlines, and because it is marked experimental (v9.23).
const (
	// lanes is how many messages run before reads gather. With fewer lanes, reads wait for a
	// longer part of a round trip, and each message has more keys.
	lanes = 4

	// longest is the most reads that leave together. It is also how many reads one large
	// value can delay.
	longest = 64

	// patience is how long a batch gathers. The next read that comes after that makes the
	// batch leave. Where round trips are long, more lanes are better than waiting.
	patience = time.Millisecond
)

// merger decides which reads leave when. The zero merger is ready for use.
type merger struct {
	mu    sync.Mutex // protects what follows
	taken int        // lanes
	next  *batch     // the batch that gathers, or nil
}

// batch is a group of reads that leave together.
type batch struct {
	since time.Time // when the first came
	reads []read    // complete when the batch leaves
	done  chan struct{}
}

// read is the call of one caller, which takes frame and err when the batch is done.
type read struct {
	ctx   context.Context //nolint:containedctx // the context of the call, which waits for the read
	key   string          // name of the cell in Redis
	frame []byte
	err   error
}

// enter either takes a lane for the caller and returns no batch, or adds the caller to a batch as
// its i-th read. When leaves is true, the batch leaves now, and the caller must start drive.
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

// leave returns a lane, unless a batch waits for it. Then it returns that batch.
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

// wait returns the result of the i-th read, or an error when ctx ends before that.
func (b *batch) wait(ctx context.Context, i int) ([]byte, error) {
	select {
	case <-b.done:
		return b.reads[i].frame, b.reads[i].err
	case <-ctx.Done():
		return nil, fail("get", ctx.Err()) // the batch still has the read
	}
}

// drive sends batches over a lane, one after the other, until none waits.
func (t *Tier) drive(b *batch) {
	for b != nil {
		t.send(b)
		close(b.done)
		b = t.merger.leave()
	}
}

// send reads the keys of those callers in a batch that still wait.
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
	err := t.mget(ctx, keys, frames)
	for i, r := range asked {
		if r.frame = frames[i]; r.frame == nil {
			r.err = err
		}
	}
}

// together returns a context with the latest deadline of the reads. It has the values of the
// first read's context, such as the span for a tracer of the client.
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
