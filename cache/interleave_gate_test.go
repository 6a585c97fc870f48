package cache_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// gate stands between a process and its network. Each message of the process passes it, in both
// directions, and may be held. A held message stays on the wire when its caller gives up. It
// still arrives after its release.
type gate struct {
	p *process

	mu     sync.Mutex // protects the rest
	asleep chan struct{}
	armed  map[string]*message // by kind: holds the next message
	held   map[string][]*message
}

type message struct{ off chan struct{} }

// allTails is the only kind that holds every message, not just the next.
const allTails = "tail"

// kinds has the story's text for each kind of stop.
var kinds = map[string]string{
	"get": "the answer to a get is on its way", "claim": "a claim is on its way", "fill": "a fill is on its way",
	"unlink": "a delete is on its way", "append": "a record is on its way", "sync": "the log's answer is on its way",
	allTails: "", "decode": "a value is being decoded", "renewal": "and stops there",
}

func newGate(p *process) *gate {
	return &gate{p: p, armed: map[string]*message{}, held: map[string][]*message{}}
}

// awake waits while the process sleeps. It reports whether the process slept.
func (g *gate) awake() (slept bool) {
	for {
		g.mu.Lock()
		asleep := g.asleep
		g.mu.Unlock()
		if asleep == nil {
			return slept
		}
		<-asleep
		slept = true
	}
}

// sleep puts the process to sleep or wakes it. While it sleeps, it sends and receives no
// message, even when deadlines pass.
func (g *gate) sleep(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case on && g.asleep == nil:
		g.asleep = make(chan struct{})
	case !on && g.asleep != nil:
		close(g.asleep)
		g.asleep = nil
	}
}

func (g *gate) hold(kind string) error {
	if _, ok := kinds[kind]; !ok {
		return fmt.Errorf("cannot hold a %s", kind)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed[kind] = &message{make(chan struct{})}
	if kind == allTails {
		g.held[kind] = append(g.held[kind], g.armed[kind])
	}
	return nil
}

func (g *gate) release(kind string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.held[kind]) == 0 {
		return fmt.Errorf("no %s of %s's is held", kind, g.p.name)
	}
	for _, m := range g.held[kind] {
		close(m.off)
	}
	delete(g.held, kind)
	if kind == allTails {
		delete(g.armed, kind)
	}
	return nil
}

// open removes every hold and fault of the gate.
func (g *gate) open() {
	g.sleep(false)
	for kind := range kinds {
		_ = g.release(kind) // fails if none is held
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.armed)
}

// stop returns the message to hold, or nil.
func (g *gate) stop(kind string) *message {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.armed[kind]
	if m == nil || kind == allTails {
		return m
	}
	delete(g.armed, kind)
	g.held[kind] = append(g.held[kind], m)
	g.p.env.Printf("%s: %s", g.p.name, kinds[kind])
	return m
}

// linger stops a process while it computes, not while it communicates.
func (g *gate) linger(kind string) {
	if m := g.stop(kind); m != nil {
		<-m.off
	}
	g.awake()
}

// hush holds the messages that the log sends by itself.
func (g *gate) hush(ctx context.Context) {
	for m := g.stop(allTails); m != nil; m = g.stop(allTails) {
		select {
		case <-m.off:
		case <-ctx.Done():
			return
		}
	}
}

type answer[T any] struct {
	v   T
	err error
}

// pass sends a message through the gate. It holds a reply on its way back, and any other message
// on its way out.
func pass[T any](ctx context.Context, g *gate, kind string, reply bool, op func(context.Context) (T, error)) (T, error) {
	if g.awake() {
		ctx = context.WithoutCancel(ctx) // the message left before the process slept
	}
	defer g.awake()
	m := g.stop(kind)
	if m == nil {
		return op(ctx)
	}
	done := make(chan answer[T], 1)
	go func() {
		if reply {
			v, err := op(ctx)
			<-m.off
			done <- answer[T]{v, err}
			return
		}
		<-m.off
		v, err := op(context.WithoutCancel(ctx))
		done <- answer[T]{v, err}
	}()
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
	}
	// A process that sleeps past the deadline gets the answer when it wakes, if the answer came.
	g.awake()
	select {
	case a := <-done:
		return a.v, a.err
	default:
		return *new(T), ctx.Err()
	}
}

// remoteGate is the remote tier behind a gate.
type remoteGate struct {
	tier.Remote
	*gate
}

// A message may be held for longer than the call takes, so it has copies of the arguments.

func (r remoteGate) Get(ctx context.Context, keys []string, frames [][]byte) error {
	keys = slices.Clone(keys)
	got, err := pass(ctx, r.gate, "get", true, func(ctx context.Context) ([][]byte, error) { return tiercall.GetMany(ctx, r.p.redis, keys) })
	copy(frames, got)
	return err
}

func (r remoteGate) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	keys, claims = slices.Clone(keys), slices.Clone(claims)
	got, err := pass(ctx, r.gate, "claim", false, func(ctx context.Context) ([]tier.Claimed, error) {
		return tiercall.ClaimMany(ctx, r.p.redis, keys, claims)
	})
	copy(answers, got)
	return err
}

func (r remoteGate) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) error {
	keys, fills = slices.Clone(keys), slices.Clone(fills)
	got, err := pass(ctx, r.gate, "fill", false, func(ctx context.Context) ([]bool, error) {
		return tiercall.FillMany(ctx, r.p.redis, keys, fills)
	})
	copy(stored, got)
	return err
}

func (r remoteGate) Remove(ctx context.Context, keys []string) error {
	keys = slices.Clone(keys)
	_, err := pass(ctx, r.gate, "unlink", false, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, r.p.redis.Remove(ctx, keys)
	})
	return err
}

// thinks waits first, so that the lines of the story keep their order.
func (p *process) thinks(ctx context.Context) {
	_ = nap(ctx, time.Microsecond) // the caller checks ctx itself
	p.noteRefused()
}

// codec returns a codec whose decoding a story can hold.
func (p *process) codec() codec.Codec { return storyCodec{codec.JSON, p.gate} }

type storyCodec struct {
	codec.Codec
	g *gate
}

func (storyCodec) ID() string { return "story" }

func (c storyCodec) Unmarshal(data []byte, v any) error {
	c.g.linger("decode")
	return c.Codec.Unmarshal(data, v)
}

// logWire is the log as one process reaches it. Each message takes a moment, also one that the
// log sends by itself. A message that is new to the process adds a line to the story.
type logWire struct {
	invalidate.Log
	p *process
}

func (w logWire) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	what := w.p.names.list(slices.Concat(a.Keys, a.Scopes))
	if what == "" {
		w.p.pace.wait(ctx)
	}
	if err := nap(ctx, w.p.wire*7/10); err != nil {
		return invalidate.Page{}, err
	}
	page, err := w.p.loglink.Sync(ctx, at, a)
	if what != "" {
		w.p.ear.missed(w.p, what, err)
	}
	if err == nil {
		w.p.ear.hear(w.p, page)
	}
	return page, err
}

func (w logWire) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	page, err := w.p.loglink.Tail(ctx, at)
	if err == nil && len(page.Keys)+len(page.Scopes) > 0 {
		if err := nap(ctx, w.p.wire/3); err != nil {
			return invalidate.Page{}, err
		}
		w.p.ear.hear(w.p, page)
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
	invalidate.Log
	*gate
}

func (l logGate) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	what := l.p.names.list(slices.Concat(a.Keys, a.Scopes))
	ask := func(ctx context.Context) (invalidate.Page, error) {
		bumps := l.p.log.Bumps()
		page, err := l.p.log.Sync(ctx, at, a)
		if l.p.log.Bumps() > bumps && l.p.ear.open.Load() {
			l.p.env.Printf("the log begins a new epoch")
		}
		if err == nil && what != "" {
			l.p.env.Printf("%s appends %s", l.p.name, what)
		}
		return page, err
	}
	back := func(ctx context.Context) (invalidate.Page, error) { return pass(ctx, l.gate, "sync", true, ask) }
	if what == "" {
		return back(ctx)
	}
	return pass(ctx, l.gate, "append", false, back)
}

func (l logGate) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	l.awake()
	page, err := l.p.log.Tail(ctx, at)
	l.hush(ctx)
	l.awake()
	return page, err
}
