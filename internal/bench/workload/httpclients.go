package workload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	gregjones "github.com/gregjones/httpcache"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

const (
	bareStub      = "the stub alone"
	transportHit  = "Transport"
	gregjonesName = "gregjones/httpcache, memory"
)

var fetchSizes = []int{pageSize, longPageSize}

func fetchSetting(size int) string { return fmt.Sprintf("hit of %d KiB", size>>10) }

// stub answers every request with one page.
type stub struct{ text []byte }

// RoundTrip implements http.RoundTripper.
func (s stub) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {pageFresh}, "Etag": {`"v"`},
			"Date": {time.Now().UTC().Format(http.TimeFormat)}, "X-Content-Type-Options": {"nosniff"},
		},
		Body: io.NopCloser(bytes.NewReader(s.text)), ContentLength: int64(len(s.text)),
	}, nil
}

// fetches measures what a client gets from the cache, including the body.
func (e *Env) fetches() {
	for _, size := range fetchSizes {
		origin := stub{pageText(size)}
		ours := setup.Must(httpcache.NewTransport(httpcache.TransportConfig{Tiers: openTiers(e.t, quiet), Base: origin}))
		e.t.Closing(func() error { return ours.Close(context.Background()) })
		theirs := gregjones.NewMemoryCacheTransport()
		theirs.Transport = origin
		e.compare(&scenario{id: "J", setting: fetchSetting(size), span: pageSpan, tables: []report.Comparison{{
			Title: "J: a client's hit, body read, 1 goroutine", Reference: gregjonesName, Unit: nsOp, More: []string{allocsOp, bytesOp},
			Note: "Allocations and bytes are for 8 KiB.",
		}}}, []contender{
			fetcher(size, bareStub, origin, func(http.Header) bool { return true }),
			fetcher(size, transportHit, ours, func(h http.Header) bool { return strings.Contains(h.Get("Cache-Status"), ";hit") }),
			fetcher(size, gregjonesName, theirs, func(h http.Header) bool { return h.Get(gregjones.XFromCache) != "" }),
		})
	}
}

// fetcher requests one page from a RoundTripper. All answers except the first must be hits.
func fetcher(size int, who string, rt http.RoundTripper, hit func(http.Header) bool) contender {
	r := pageRequest([]string{"Cookie", "session=1"})
	r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", r.Host
	buf := make([]byte, 64<<10)
	fetch := func(context.Context, int) error {
		resp, err := rt.RoundTrip(r)
		if err != nil {
			return err
		}
		n := 0
		for err == nil { // only with Read, as a decoder does
			var k int
			k, err = resp.Body.Read(buf)
			n += k
		}
		if _ = resp.Body.Close(); !errors.Is(err, io.EOF) || n != size || !hit(resp.Header) {
			return fmt.Errorf("%d of %d bytes and %w, header %v; want a hit", n, size, err, resp.Header)
		}
		return nil
	}
	_ = fetch(context.Background(), 0) // the answer that is stored
	return contender{name: who, op: fetch}
}

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

// proxyKind is another program that caches pages, as a process of its own between the clients and the
// bare handler.
type proxyKind struct {
	name string
	file string                                            // the program
	conf string                                            // its configuration; %[1]s is its address, %[2]s the origin's host, %[3]s the origin's port, %[4]s its folder
	args func(conf, addr, dir string) (arguments []string) // of the command line
}

var proxyKinds = []proxyKind{
	{
		name: "nginx", file: "nginx", conf: `daemon off;
user root; # ignored unless it is started by root, whose folder no other user may read
worker_processes auto;
pid %[4]s/pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
	access_log off;
	keepalive_requests 1000000000;
	keepalive_timeout 600s;
	client_body_temp_path %[4]s/body;
	proxy_temp_path %[4]s/proxy;
	fastcgi_temp_path %[4]s/fastcgi;
	uwsgi_temp_path %[4]s/uwsgi;
	scgi_temp_path %[4]s/scgi;
	proxy_cache_path %[4]s/cache keys_zone=pages:16m max_size=64m;
	server {
		listen %[1]s;
		location / {
			proxy_pass http://%[2]s:%[3]s;
			proxy_set_header Host $host;
			proxy_cache pages;
			add_header X-Cache $upstream_cache_status;
		}
	}
}
`,
		args: func(conf, _, dir string) []string { return []string{"-c", conf, "-p", dir, "-e", "stderr"} },
	},
	{
		name: "varnish", file: "varnishd", conf: `vcl 4.1;
backend default { .host = "%[2]s"; .port = "%[3]s"; }
`,
		args: func(conf, addr, dir string) []string {
			return []string{"-F", "-j", "none", "-f", conf, "-a", addr, "-s", "malloc,64m", "-n", filepath.Join(dir, "work"), "-T", "none",
				"-p", "timeout_idle=600"} // the contenders take turns
		},
	},
}

// start starts the proxy in front of the origin until t is closed, and waits until it answers.
func (k *proxyKind) start(t *setup.T, origin string) (addr string, p *proc.Server, err error) {
	file, err := exec.LookPath(k.file)
	if errors.Is(err, exec.ErrNotFound) { // not in the PATH of a user, but of the system
		file, err = exec.LookPath("/usr/sbin/" + k.file)
	}
	if err != nil {
		return "", nil, err
	}
	err = setup.Try(func() {
		addr = proc.FreeAddr()
		host, port, _ := net.SplitHostPort(origin) // an address of this process
		dir := t.TempDir()
		setup.Check(os.Chmod(dir, 0o755)) //nolint:gosec // its workers may run as another user
		conf := filepath.Join(dir, "conf")
		setup.Check(os.WriteFile(conf, fmt.Appendf(nil, k.conf, addr, host, port, dir), 0o644)) //nolint:gosec // the same
		p = proc.Serve(t, addr, exec.Command(file, k.args(conf, addr, dir)...))                 //nolint:gosec // a known program
	})
	return addr, p, err
}
