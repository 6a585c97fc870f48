package httpcache_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// proxyTo is a reverse proxy in front of a server.
func proxyTo(t *testing.T, origin http.HandlerFunc) *httputil.ReverseProxy {
	t.Helper()
	u, err := url.Parse(listen(t, origin).URL)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}
}

// In front of a reverse proxy, over real connections: early hints arrive, a stored page is a hit,
// and a response that is not stored streams.
func TestReverseProxy(t *testing.T) {
	more := make(chan struct{})
	var asked atomic.Int64
	proxy := proxyTo(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/hints":
			w.Header().Set("Link", "</a>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Cache-Control", "max-age=60")
			_, _ = io.WriteString(w, "page")
		case "/chunked":
			w.Header().Set("Cache-Control", "max-age=60")
			_, _ = io.WriteString(w, "one\n")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "two\n")
		case "/stream":
			_, _ = io.WriteString(w, "one\n")
			_ = http.NewResponseController(w).Flush()
			<-more
			_, _ = io.WriteString(w, "two\n")
		}
	})
	front := listen(t, proxied(t, proxy, httpcache.Config{}))
	get := func(path string) (*http.Response, []int) {
		var early []int
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			early = append(early, code)
			return nil
		}})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, front.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := front.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return res, early
	}
	for i := range 2 {
		res, early := get("/hints")
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(b) != "page" || asked.Load() != 1 || (i == 0) != slices.Equal(early, []int{103}) || res.Header.Get("Link") == "" {
			t.Errorf("visit %d: %q, %v, early %v, header %v, asked %d times", i, b, err, early, res.Header, asked.Load())
		}
	}
	for range 2 {
		res, _ := get("/chunked")
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(b) != "one\ntwo\n" || asked.Load() != 2 {
			t.Errorf("%q, %v, asked %d times", b, err, asked.Load())
		}
	}
	res, _ := get("/stream")
	defer res.Body.Close()
	line := make([]byte, 4)
	if _, err := io.ReadFull(res.Body, line); err != nil || string(line) != "one\n" {
		t.Errorf("%q, %v before the rest is there", line, err)
	}
	close(more)
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "two\n" || asked.Load() != 3 {
		t.Errorf("%q, %v, asked %d times", b, err, asked.Load())
	}
}

// With Pages an informational response goes to the one client of a rendering, with its own header.
func TestHintsOfPages(t *testing.T) {
	hinting := func(w http.ResponseWriter, _ *http.Request) {
		for _, link := range []string{"</a>", "</b>"} {
			w.Header().Set("Link", link)
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "page")
	}
	for name, h := range map[string]http.Handler{"handler": http.HandlerFunc(hinting), "proxy": proxyTo(t, hinting)} {
		for _, off := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, off %t", name, off), func(t *testing.T) {
				front := listen(t, proxied(t, h, httpcache.Config{Preset: httpcache.Pages, Off: off}))
				for range 3 { // the second time the key is remembered
					var early []string
					ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
						early = append(early, fmt.Sprint(code, h["Link"]))
						return nil
					}})
					r, err := http.NewRequestWithContext(ctx, http.MethodGet, front.URL, http.NoBody)
					if err != nil {
						t.Fatal(err)
					}
					res, err := front.Client().Do(r)
					if err != nil {
						t.Fatal(err)
					}
					b, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if want := []string{"103 [</a>]", "103 [</b>]"}; err != nil || string(b) != "page" || !slices.Equal(early, want) || res.Header.Get("Link") != "" {
						t.Errorf("%q, %v, early %v, header %v", b, err, early, res.Header)
					}
				}
			})
		}
	}
}

// A HEAD whose page is not recorded ends with its header, whatever the handler does when its
// writes fail. Its connection stays open.
func TestHeadOfReverseProxy(t *testing.T) {
	proxy := proxyTo(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/private":
			w.Header().Set("Cache-Control", "private")
		case "/declared":
			w.Header().Set("Content-Length", "4194304")
		}
		w.Header().Set("X-A", "1")
		_, _ = io.CopyN(w, zeros{}, 4<<20)
	})
	for name, h := range map[string]http.Handler{
		"until":       proxied(t, proxy, httpcache.Config{Preset: httpcache.Pages}),
		"off":         proxied(t, proxy, httpcache.Config{Preset: httpcache.Pages, Off: true}),
		"conditional": httpcache.Conditional(proxy),
	} {
		for _, path := range []string{"/private", "/declared", "/large"} {
			t.Run(name+path, func(t *testing.T) {
				front := listen(t, h)
				conn, err := net.Dial("tcp", front.Listener.Addr().String()) //nolint:noctx // a test
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				from := bufio.NewReader(conn)
				for i := range 3 { // an http.Client may take another connection if it is slow
					r := outgoing(t, http.MethodHead, front.URL+path)
					if err := r.Write(conn); err != nil {
						t.Fatal(err)
					}
					res, err := http.ReadResponse(from, r)
					if err != nil {
						t.Fatal(err)
					}
					_ = res.Body.Close()
					if res.StatusCode != http.StatusOK || res.Header.Get("X-A") != "1" || res.Close {
						t.Errorf("HEAD %d: %d %v, the connection closes: %v", i, res.StatusCode, res.Header, res.Close)
					}
				}
			})
		}
	}
}

// A handler's own panic breaks the connection of a HEAD too.
func TestHeadOfAHandlerThatPanics(t *testing.T) {
	h := httpcache.Conditional(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "private")
		w.WriteHeader(http.StatusOK)
		panic(http.ErrAbortHandler)
	}))
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // itself
			t.Errorf("the panic was %v", p)
		}
	}()
	do(h, request(t, http.MethodHead, "/"))
}
