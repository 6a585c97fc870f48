package cache_test

import (
	"context"
	"fmt"
	"sync"
)

// gate stands between a process and its network. Each message of the process passes it, in both
// directions, and may be held. A held message stays on the wire when its caller gives up. It
// still arrives after its release.
type gate struct {
	p *logProcess

	mu     sync.Mutex // protects the rest
	asleep chan struct{}
	armed  map[string]*message // by kind: holds the next message
	held   map[string][]*message
	twice  map[string]bool
	copied map[string]bool
	copies []func()
}

type message struct{ off chan struct{} }

// allTails is the only kind that holds every message, not just the next.
const allTails = "tail"

// kinds has the story's text for each kind of stop.
var kinds = map[string]string{
	"get": "the answer to a get is on its way", "claim": "a claim is on its way", "fill": "a fill is on its way",
	"unlink": "a delete is on its way", "append": "a record is on its way", "sync": "the log's answer is on its way",
	"number": "rows are about to get numbers",
	allTails: "", "decode": "a value is being decoded", "renewal": "and stops there",
}

func newGate(p *logProcess) *gate {
	return &gate{p: p, armed: map[string]*message{}, held: map[string][]*message{}, twice: map[string]bool{}, copied: map[string]bool{}}
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

// mark makes the gate send the next message of a kind twice, or copy it.
func (g *gate) mark(what map[string]bool, kind string) error {
	if kind != "claim" && kind != "fill" && kind != "append" {
		return fmt.Errorf("cannot resend or copy a %s", kind)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	what[kind] = true
	return nil
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
