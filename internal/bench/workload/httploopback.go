package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
)

const (
	loopbackConns   = 64
	loopbackSetting = "64 connections"
)

// loopback measures a real server on kept-alive connections, and other programs that cache in front of
// the bare handler. The client parses as little of an answer as possible, so that the server has both
// cores.
func (e *Env) loopback(ctx context.Context, s *site) error {
	page := pageOf(pageSize)
	ours, err := s.cached(page, httpcache.Config{})
	if err != nil {
		return err
	}
	bare, cached := httptest.NewServer(page), httptest.NewServer(ours)
	defer bare.Close()
	defer cached.Close()
	contenders := []served{{barePage, bare.Listener.Addr().String(), nil}, {hitResponse, cached.Listener.Addr().String(), nil}}
	e.left = nil
	for _, k := range proxyKinds {
		p, err := k.start(ctx, contenders[0].addr, e.dir)
		if err != nil {
			e.left = append(e.left, fmt.Sprintf("%s (%v)", k.name, err))
			continue
		}
		defer func() { _ = p.stop() }() // the measurements are done
		contenders = append(contenders, served{k.name, p.addr, p})
	}
	var cs []measure.Contender
	for _, one := range contenders {
		c, err := e.served(ctx, one)
		if err != nil {
			return err
		}
		defer c.close()
		cs = append(cs, c.Contender)
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

// served is a server to measure.
type served struct {
	name, addr string
	p          *proxy // nil: in this process
}

// clients is a contender with its connections.
type clients struct {
	measure.Contender
	conns []*keptAlive
}

func (c *clients) close() {
	for _, k := range c.conns {
		_ = k.c.Close() // the measurements are done
	}
}

// served opens the connections to a server.
func (e *Env) served(ctx context.Context, one served) (*clients, error) {
	c := &clients{}
	for range loopbackConns {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", one.addr)
		if err != nil {
			c.close()
			return nil, err
		}
		c.conns = append(c.conns, &keptAlive{c: conn, r: bufio.NewReaderSize(conn, 16<<10)})
	}
	c.Contender = measure.Contender{Name: one.name, Measure: func(ctx context.Context) error {
		var once sync.Once
		var failed error
		run := func(span time.Duration) measure.Result {
			return measure.Run(ctx, measure.Config{Goroutines: loopbackConns, For: span}, func(g int) func(int) {
				return func(int) {
					if err := c.conns[g].get(); err != nil {
						once.Do(func() { failed = fmt.Errorf("%s: %w", one.name, err) })
					}
				}
			})
		}
		run(e.ms(200, 50, 5))
		before := one.p.cpu()
		res := run(e.ms(1000, 300, 20))
		res.CPU += one.p.cpu() - before
		e.add(pageLine(loopbackSetting, one.name), res)
		e.Book.Add(pageLine(loopbackSetting, one.name), perSecond, res.PerSecond())
		e.Book.Add(pageLine(loopbackSetting, one.name), cpuOp, res.CPUPerOp())
		return failed
	}}
	return c, nil
}

// keptAlive is a kept-alive connection to a server.
type keptAlive struct {
	c net.Conn
	r *bufio.Reader
}

var pageBytes = []byte("GET /posts/first?page=2 HTTP/1.1\r\nHost: example.com\r\nAccept: text/html\r\nUser-Agent: bench\r\n\r\n")

// get requests the page and reads all of it.
func (k *keptAlive) get() error {
	if _, err := k.c.Write(pageBytes); err != nil {
		return err
	}
	length := 0
	for first := true; ; first = false {
		line, err := k.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !strings.HasPrefix(string(line), "HTTP/1.1 200 ") {
			return fmt.Errorf("answered %q", line)
		}
		if len(line) <= len("\r\n") {
			break
		}
		if n, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(n)); err != nil {
				return err
			}
		}
	}
	if length != pageSize {
		return fmt.Errorf("a page of %d bytes, want %d", length, pageSize)
	}
	n, err := k.r.Discard(length)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%d of %d bytes: %w", n, length, io.ErrUnexpectedEOF)
	}
	return err
}
