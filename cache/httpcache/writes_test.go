package httpcache_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// desk is a handler that answers reads with a page and writes by write.
func desk(write http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			_, _ = io.WriteString(w, "page")
			return
		}
		write(w, r)
	}
}

// gone returns which of the pages are no longer stored.
func (s server) gone(t *testing.T, pages ...string) (gone []string) {
	t.Helper()
	for _, p := range pages {
		if !s.get(t, p).hit() {
			gone = append(gone, p)
		}
	}
	return gone
}

// A successful write invalidates what it has changed, and nothing else (RFC 9111 §4.4).
func TestWrites(t *testing.T) {
	pages := []string{"/a/b", "/a/b?page=2", "/a/c", "/c", "/"} // also the order of want
	own := []string{"/a/b", "/a/b?page=2"}
	for name, c := range map[string]struct {
		method string
		status int
		header []string
		on     []side // nil: both
		want   []string
	}{
		"post":             {status: 200, want: own},
		"see other":        {status: 303, want: own},
		"delete":           {method: http.MethodDelete, status: 204, want: own},
		"unknown method":   {method: "FROB", status: 200, want: own},
		"options":          {method: http.MethodOptions, status: 200},
		"trace":            {method: http.MethodTrace, status: 200},
		"propfind":         {method: "PROPFIND", status: 207},
		"report":           {method: "REPORT", status: 207},
		"search":           {method: "SEARCH", status: 207},
		"query":            {method: "QUERY", status: 200},
		"proppatch":        {method: "PROPPATCH", status: 207, want: own},
		"small letters":    {method: "propfind", status: 207, want: own},
		"refused":          {status: 403, header: []string{"Location", "/c"}},
		"failed":           {status: 500},
		"ignored":          {status: 200, on: []side{handlerSide}},
		"location":         {status: 201, header: []string{"Location", "/c"}, want: append(slices.Clone(own), "/c")},
		"content-location": {status: 201, header: []string{"content-location", "/a/c#part"}, want: append(slices.Clone(own), "/a/c")},
		"four lines":       {status: 201, header: []string{"Location", "/1", "Location", "/2", "Location", "/3", "Location", "/c"}, want: append(slices.Clone(own), "/c")},
		"five lines":       {status: 201, header: []string{"Location", "/1", "Location", "/2", "Location", "/3", "Location", "/4", "Location", "/c"}, want: own},
		"relative":         {status: 201, header: []string{"Location", "c?x=1"}, want: append(slices.Clone(own), "/a/c")},
		"with dots":        {status: 201, header: []string{"Location", "../a/./c"}, want: append(slices.Clone(own), "/a/c")},
		"the same host":    {status: 201, header: []string{"Location", "http://EXAMPLE.com:80/a/c"}, want: append(slices.Clone(own), "/a/c")},
		"another scheme":   {status: 201, header: []string{"Location", "https://EXAMPLE.com:443/a/c"}, on: []side{handlerSide}, want: append(slices.Clone(own), "/a/c")},
		"another origin":   {status: 201, header: []string{"Location", "https://example.com/a/c"}, on: []side{sharedSide}, want: own},
		"with credentials": {status: 201, header: []string{"Location", "//user:word@example.com/a/c"}, want: append(slices.Clone(own), "/a/c")},
		"the host alone":   {status: 201, header: []string{"Location", "//example.com"}, want: append(slices.Clone(own), "/")},
		"another host":     {status: 201, header: []string{"Location", "//other.example/a/c"}, want: own},
		"another port":     {status: 201, header: []string{"Location", "//example.com:81/a/c"}, want: own},
		"no URL":           {status: 201, header: []string{"Location", "http://[/a/c", "Content-Location", "mailto:a"}, want: own},
	} {
		t.Run(name, func(t *testing.T) {
			origin := func() http.Handler {
				h := desk(func(w http.ResponseWriter, _ *http.Request) {
					for i := 0; i+1 < len(c.header); i += 2 {
						w.Header()[c.header[i]] = append(w.Header()[c.header[i]], c.header[i+1])
					}
					w.WriteHeader(c.status)
				})
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Cache-Control", "max-age=60")
					w.Header().Set("Vary", "X-L")
					h(w, r)
				})
			}
			on(t, c.on, httpcache.Config{IgnoreWrites: c.on != nil && c.want == nil}, origin, func(t *testing.T, do send) {
				gone := func() (gone []string) {
					for _, p := range pages {
						a, b := do(http.MethodGet, p, "X-L", "a"), do(http.MethodGet, p, "X-L", "b")
						if a.hit() != b.hit() {
							t.Errorf("%s: a variant was forgotten", p)
						}
						if !a.hit() {
							gone = append(gone, p)
						}
					}
					return gone
				}
				gone()
				if a := do(cmp.Or(c.method, http.MethodPost), "/a/b?x=y"); a.status != c.status {
					t.Error(a)
				}
				if got := gone(); !slices.Equal(got, c.want) {
					t.Errorf("%q are gone, want %q", got, c.want)
				}
			})
		})
	}
}

// References in an answer are resolved as the client sees them, also behind a handler that has
// cut off part of the path.
func TestWritesBehindAPrefix(t *testing.T) {
	s := serve(t, desk(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/shop/c")
		w.WriteHeader(http.StatusCreated)
	}), httpcache.Config{})
	outer := http.StripPrefix("/shop", s)
	pages := []string{"/shop/a", "/shop/c", "/shop/d"}
	gone := func() (n []string) {
		for _, p := range pages {
			if !do(outer, request(t, http.MethodGet, p)).hit() {
				n = append(n, p)
			}
		}
		return n
	}
	gone()
	do(outer, request(t, http.MethodPost, "/shop/a"))
	if got := gone(); !slices.Equal(got, pages[:2]) {
		t.Errorf("%q are gone", got)
	}
}

// spy is a writer that runs a check when the final header is sent.
type spy struct {
	http.ResponseWriter
	look func()
}

func (s *spy) WriteHeader(status int) {
	if status >= 200 {
		s.look()
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *spy) Write(b []byte) (int, error) {
	s.look()
	return s.ResponseWriter.Write(b)
}

func (s *spy) Flush() { s.look() }

func (s *spy) ReadFrom(r io.Reader) (int64, error) {
	s.look()
	return io.Copy(s.ResponseWriter, r)
}

// However a handler begins its answer, the invalidation is over before the client gets it.
func TestWritesAreOverBeforeTheyAreAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		write http.HandlerFunc
		stays bool // the page stays
	}{
		"header":  {write: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }},
		"write":   {write: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") }},
		"flush":   {write: func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }},
		"control": {write: func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }},
		"reader": {write: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader("done"))
		}},
		"early hints": {write: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		}},
		"early hints, refused": {stays: true, write: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusForbidden)
		}},
		"nothing":      {write: func(http.ResponseWriter, *http.Request) {}},
		"another path": {write: func(_ http.ResponseWriter, r *http.Request) { r.URL.Path, r.Method = "/other", http.MethodGet }},
		"panic":        {stays: true, write: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"panic too late": {write: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			panic(http.ErrAbortHandler)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, desk(c.write), httpcache.Config{})
			s.get(t, "/")
			is := func() bool { return s.get(t, "/", "Cache-Control", "no-store").hit() }
			srv := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { _ = recover() }()
				s.ServeHTTP(&spy{w, func() {
					if is() != c.stays {
						t.Errorf("the page was there: %t, when the header left", is())
					}
				}}, r)
			})
			do(srv, request(t, http.MethodPost, "/"))
			if is() != c.stays {
				t.Errorf("the page is there: %t", is())
			}
		})
	}
}

// A connection that was taken over stays so. Writes to it invalidate nothing.
func TestWritesThatTakeTheConnection(t *testing.T) {
	s := serve(t, desk(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
		if err := w.(http.Pusher).Push("/x", nil); !errors.Is(err, http.ErrNotSupported) {
			t.Error(err)
		}
	}), httpcache.Config{})
	srv := listen(t, s)
	res, err := http.Post(srv.URL+"/", "text/plain", nil) //nolint:noctx // the server is ours
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); string(b) != "ok" {
		t.Errorf("%q, %v", b, err)
	}
}

// fleet is two processes with one remote tier and one log.
func fleet(t *testing.T, h http.HandlerFunc, cfg httpcache.Config) (servers [2]server, link *logtest.Faulty) {
	log := logtest.NewMemory(logtest.MemoryConfig{})
	link = logtest.NewFaulty(log)
	remote := tiertest.NewMemory()
	for i, l := range []invalidate.Log{link, log} {
		cfg.Tiers = openTiers(t, cache.TiersConfig{Remote: remote, Log: l})
		servers[i] = serve(t, h, cfg)
		if err := cfg.Tiers.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return servers, link
}

// A write in one process is visible in the others.
func TestWritesOfAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers, _ := fleet(t, desk(func(http.ResponseWriter, *http.Request) {}), httpcache.Config{})
		for _, s := range servers {
			s.get(t, "/")
			if !s.get(t, "/").hit() {
				t.Error("the page is not stored")
			}
		}
		do(servers[0], request(t, http.MethodPut, "/"))
		sleep(t, "2s")
		if gone := servers[1].gone(t, "/"); len(gone) != 1 {
			t.Error("the other process still has the page")
		}
	})
}

// The invalidation of a write is sent even if its client has left.
func TestWritesOfClientsWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		servers, _ := fleet(t, desk(func(w http.ResponseWriter, _ *http.Request) {
			leave()
			w.WriteHeader(http.StatusCreated)
		}), httpcache.Config{})
		s := servers[0]
		do(s, request(t, http.MethodPost, "/").WithContext(ctx))
		if n := s.c.Stats().PendingWrites; n != 0 {
			t.Errorf("%d writes are pending", n)
		}
	})
}

// A write is answered within a bound even if its invalidation cannot be sent, and PendingWrites
// counts it.
func TestWritesWithoutALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		servers, link := fleet(t, desk(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
		}), httpcache.Config{Logger: slog.New(slog.NewTextHandler(&said, nil))})
		s := servers[0]
		s.get(t, "/secret")
		link.Fail(errors.New("no log"))
		begun := time.Now()
		if a := do(s, request(t, http.MethodPost, "/secret")); a.status != http.StatusCreated {
			t.Error(a)
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("it took %v", d)
		}
		if n := s.c.Stats().PendingWrites; n != 1 {
			t.Errorf("%d writes are pending", n)
		}
		if !strings.Contains(said.String(), "no log") || strings.Contains(said.String(), "secret") {
			t.Errorf("the log says %q", said.String())
		}
		link.Heal()
		sleep(t, "3s")
		if gone := servers[1].gone(t, "/secret"); len(gone) != 1 {
			t.Error("the other process still has the page")
		}
	})
}
