package workload

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

const (
	loopbackConns   = 64
	loopbackSetting = "64 connections"
)

// loopback measures a real server on kept-alive connections, and other programs that cache in front of
// the bare handler. The client parses as little of an answer as possible, so the server has both
// cores.
func (e *Env) loopback() {
	page := pageOf(pageSize)
	origin := listen(e.t, page)
	cs := []contender{e.served(barePage, origin, nil), e.served(hitResponse, listen(e.t, cached(e.t, page, httpcache.Config{})), nil)}
	e.left = nil
	for _, k := range proxyKinds {
		addr, p, err := k.start(e.t, origin)
		if err != nil {
			e.left = append(e.left, fmt.Sprintf("%s (%v)", k.name, err))
			continue
		}
		cs = append(cs, e.served(k.name, addr, p))
	}
	e.compare(&scenario{
		id: "J", setting: loopbackSetting, goroutines: loopbackConns, warm: [3]int64{200, 50, 5}, span: [3]int64{1000, 300, 20},
		tables: []report.Comparison{{
			Title: "J: net/http on the loopback, 64 connections that stay open", Reference: barePage, Unit: perSecond, More: []string{cpuOp, allocsOp},
			Note: e.loopbackNote(),
		}},
	}, cs)
}

func (e *Env) loopbackNote() string {
	note := "Server and clients share one process, except that the other programs have processes of their own. " +
		"The processor time is that of server and clients together. The clients parse as little as possible."
	if len(e.left) > 0 {
		note += " Left out: " + strings.Join(e.left, ", ") + "."
	}
	return note
}

// listen serves a handler, and returns the address.
func listen(t *setup.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// served opens the connections to a server: p, or one in this process. Its processor time is that of
// both sides.
func (e *Env) served(name, addr string, p *proc.Server) contender {
	conns := make([]*keptAlive, loopbackConns)
	for i := range conns {
		conn := setup.Must(new(net.Dialer).DialContext(e.t.Context(), "tcp", addr))
		e.t.Closing(conn.Close)
		conns[i] = &keptAlive{c: conn, r: bufio.NewReaderSize(conn, 16<<10)}
	}
	cpu := func() time.Duration { return 0 }
	if p != nil {
		cpu = p.CPU
	}
	var before time.Duration
	return contender{
		name:  name,
		start: func() { before = cpu() },
		each:  func(g int) op { return func(context.Context, int) error { return conns[g].get() } },
		after: func(l report.Line, r measure.Result) {
			r.CPU += cpu() - before
			e.Book.Add(l, perSecond, r.PerSecond())
			e.Book.Add(l, cpuOp, r.CPUPerOp())
		},
	}
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
	_, err := k.r.Discard(length)
	return err
}
