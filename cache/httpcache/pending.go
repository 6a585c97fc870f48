package httpcache

import (
	"context"
	"sync"
)

// pending counts what runs. Unlike a sync.WaitGroup it may grow from zero while something
// waits: a refresh begins behind the request that asked for it. The zero value is ready.
type pending struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0; nil: nothing waits
}

// add counts one more.
func (p *pending) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
}

// done ends what add began.
func (p *pending) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n--
	if p.n == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// run runs f in a goroutine that counts.
func (p *pending) run(f func()) {
	p.add()
	go func() {
		defer p.done()
		f()
	}()
}

// wait waits until nothing runs, or until ctx ends. Then it returns the error of ctx.
func (p *pending) wait(ctx context.Context) error {
	p.mu.Lock()
	if p.n == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
