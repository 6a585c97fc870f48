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
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/report"
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
	var own owned
	defer own.close()
	var cs []contender
	for _, one := range contenders {
		c, err := e.served(ctx, &own, one)
		if err != nil {
			return err
		}
		cs = append(cs, c)
	}
	return e.compare(ctx, &scenario{
		id: "J", setting: loopbackSetting, goroutines: loopbackConns, warm: [3]int64{200, 50, 5}, span: [3]int64{1000, 300, 20},
		tables: []report.Comparison{{
			Title: "J: net/http on the loopback, 64 connections that stay open", Reference: barePage, Unit: perSecond, More: []string{cpuOp, allocsOp},
			Note: e.loopbackNote(),
		}},
	}, cs)
}

// served is a server to measure.
type served struct {
	name, addr string
	p          *proxy // nil: in this process
}

// served opens the connections to a server. Its processor time is that of both sides.
func (e *Env) served(ctx context.Context, own *owned, one served) (c contender, err error) {
	conns := make([]*keptAlive, loopbackConns)
	for i := range conns {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", one.addr)
		if err != nil {
			return c, err
		}
		own.add(func() { _ = conn.Close() }) // the measurements are done
		conns[i] = &keptAlive{c: conn, r: bufio.NewReaderSize(conn, 16<<10)}
	}
	var before time.Duration
	return contender{
		name:  one.name,
		start: func() { before = one.p.cpu() },
		each:  func(g int) op { return func(context.Context, int) error { return conns[g].get() } },
		after: func(l report.Line, r measure.Result) error {
			r.CPU += one.p.cpu() - before
			e.Book.Add(l, perSecond, r.PerSecond())
			e.Book.Add(l, cpuOp, r.CPUPerOp())
			return nil
		},
	}, nil
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
