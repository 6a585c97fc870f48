package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
)

const (
	loopbackConns   = 64
	loopbackSetting = "64 connections"
)

// loopback measures a real server on kept-alive connections. The client parses as little of an
// answer as possible, so that the server has both cores.
func (e *Env) loopback(ctx context.Context, s *site) error {
	page := pageOf(pageSize)
	ours, err := s.cached(page, httpcache.Config{})
	if err != nil {
		return err
	}
	var cs []measure.Contender
	for _, one := range []struct {
		name string
		h    http.Handler
	}{{barePage, page}, {hitResponse, ours}} {
		srv := httptest.NewServer(one.h)
		defer srv.Close()
		conns := make([]*keptAlive, loopbackConns)
		for i := range conns {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", srv.Listener.Addr().String())
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }() // the measurements are done
			conns[i] = &keptAlive{c: c, r: bufio.NewReaderSize(c, 16<<10)}
		}
		cs = append(cs, measure.Contender{Name: one.name, Measure: func(ctx context.Context) error {
			var once sync.Once
			var failed error
			res := measure.Run(ctx, measure.Config{Goroutines: loopbackConns, For: e.ms(1000, 300, 20), Warm: e.ms(200, 50, 5)}, func(g int) func(int) {
				return func(int) {
					if err := conns[g].get(); err != nil {
						once.Do(func() { failed = err })
					}
				}
			})
			e.add(pageLine(loopbackSetting, one.name), res)
			e.Book.Add(pageLine(loopbackSetting, one.name), perSecond, res.PerSecond())
			return failed
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
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
