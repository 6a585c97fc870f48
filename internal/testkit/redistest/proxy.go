package redistest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy that breaks connections on command. A mode applies to open connections and
// to new ones, from the next bytes on. All methods may be called concurrently.
type Proxy struct {
	ln   net.Listener
	wg   sync.WaitGroup
	done chan struct{} // closed when the test ends

	mu     sync.Mutex // protects all below
	target string
	mode   mode
	conns  map[net.Conn]struct{}
}

// mode says what happens to bytes.
type mode struct {
	kind  modeKind
	delay time.Duration
	bytes []byte
}

type modeKind int

const (
	pass modeKind = iota
	blackHole
	drop
	garbage
)

// NewProxy returns a proxy for the server at target (host:port). It passes everything on and is
// closed with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{ln: ln, target: target, conns: map[net.Conn]struct{}{}, done: make(chan struct{})}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns the address to connect to, host:port.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Pass lets bytes through again.
func (p *Proxy) Pass() { p.set(mode{kind: pass}) }

// BlackHole accepts connections and swallows all bytes from either side, like a network that lost
// its route: a half-open connection.
func (p *Proxy) BlackHole() { p.set(mode{kind: blackHole}) }

// Drop closes every connection, and new ones as soon as they are made.
func (p *Proxy) Drop() {
	p.set(mode{kind: drop})
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Garbage answers every message of the client with the bytes of reply, and passes nothing on. The
// caller must not change reply afterwards.
func (p *Proxy) Garbage(reply []byte) { p.set(mode{kind: garbage, bytes: reply}) }

// Delay passes bytes on, each piece from the client d later.
func (p *Proxy) Delay(d time.Duration) { p.set(mode{kind: pass, delay: d}) }

// Retarget sends new connections to another server. Open connections stay; calling Drop and then
// Pass ends them.
func (p *Proxy) Retarget(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
}

func (p *Proxy) get() (mode, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.target
}

func (p *Proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return // closed
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

// serve handles one connection. It dials the server even in a mode that does not need the server,
// because the mode may change later. If the server is unreachable, the modes that need no server
// still work.
func (p *Proxy) serve(client net.Conn) {
	if !p.track(client) {
		return
	}
	defer p.untrack(client)
	m, target := p.get()
	if m.kind == drop {
		return
	}
	server, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil {
		p.copy(nil, client, true)
		return
	}
	if !p.track(server) {
		return
	}
	defer p.untrack(server)
	p.wg.Go(func() {
		p.copy(client, server, false)
		_ = client.Close()
	})
	p.copy(server, client, true)
	_ = server.Close()
}

// copy moves bytes until either side ends. Without a dst it ends as soon as there is something to
// pass on.
func (p *Proxy) copy(dst, src net.Conn, fromClient bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if err != nil {
			return
		}
		switch m, _ := p.get(); {
		case m.kind == drop:
			return
		case m.kind == garbage && fromClient:
			if _, err := src.Write(m.bytes); err != nil {
				return
			}
		case m.kind == pass:
			if dst == nil || fromClient && !p.wait(m.delay) {
				return
			}
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
	}
}

// wait returns false if the proxy closes meanwhile.
func (p *Proxy) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
		return false
	}
}

// track remembers c for Drop and close. If the proxy is already closed, track closes c.
func (p *Proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) untrack(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) close() {
	close(p.done)
	_ = p.ln.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
	p.mu.Unlock()
	p.wg.Wait()
}
