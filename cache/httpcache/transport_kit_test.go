package httpcache_test

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// upstream is a test's server. It counts the requests and remembers them.
type upstream struct {
	answer func(r *http.Request, n int) (*http.Response, error)

	mu   sync.Mutex
	seen []*http.Request
}

// RoundTrip implements http.RoundTripper.
func (o *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	o.seen = append(o.seen, r)
	n := len(o.seen)
	o.mu.Unlock()
	if r.Body != nil {
		_ = r.Body.Close()
	}
	resp, err := o.answer(r, n)
	if resp != nil && resp.Request == nil {
		resp.Request = r
	}
	return resp, err
}

func (o *upstream) asked() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen)
}

// says returns a response with a body. pairs are names and values of its header.
func says(status int, body string, pairs ...string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: headerOf(pairs...), Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// numbered answers each request with its number.
func numbered(pairs ...string) *upstream {
	return &upstream{answer: func(_ *http.Request, n int) (*http.Response, error) {
		return says(http.StatusOK, fmt.Sprintf("answer %d", n), pairs...), nil
	}}
}

// reply answers one request; nil: the server is down.
type reply func(r *http.Request) *http.Response

// scripted answers each request by the next function, and the rest by the last one.
func scripted(answers ...reply) *upstream {
	return &upstream{answer: func(r *http.Request, n int) (*http.Response, error) {
		resp := answers[min(n, len(answers))-1](r)
		if resp == nil {
			return nil, errDown
		}
		return resp, nil
	}}
}

var errDown = fmt.Errorf("the origin is down")

// replies returns the same response for every request.
func replies(status int, body string, pairs ...string) reply {
	return func(*http.Request) *http.Response { return says(status, body, pairs...) }
}

// client is a Transport with its origin.
type client struct {
	*httpcache.Transport
	o *upstream
	stored
}

func transport(t testing.TB, o *upstream, cfg httpcache.TransportConfig) client {
	t.Helper()
	if cfg.Tiers == nil {
		cfg.Tiers = openTiers(t, cache.TiersConfig{})
	}
	if cfg.Base == nil {
		cfg.Base = o
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	tr, err := httpcache.NewTransport(cfg)
	closeAfter(t, tr, err)
	return client{tr, o, stored{cfg.Tiers}}
}

// outgoing makes a request of a client; header is pairs of names and values.
func outgoing(t testing.TB, method, target string, pairs ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return with(r, pairs)
}

// do sends a request and reads the response.
func (c client) do(t testing.TB, r *http.Request) answer {
	t.Helper()
	return answered(t, c, r)
}

// answered sends a request and reads the response.
func answered(t testing.TB, to http.RoundTripper, r *http.Request) answer {
	t.Helper()
	resp, err := to.RoundTrip(r)
	if err != nil {
		return answer{body: err.Error()}
	}
	if resp.Request.URL.String() != r.URL.String() {
		t.Errorf("the response is of %v", resp.Request.URL)
	}
	return readAll(t, resp)
}

func readAll(t testing.TB, resp *http.Response) answer {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		b = append(b, " and then: "+err.Error()...)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := httpsfv.UnmarshalList(resp.Header["Cache-Status"]); err != nil {
		t.Errorf("Cache-Status %q is not a list: %v", resp.Header["Cache-Status"], err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
}

const pageURL = "http://example.com/page"

// get requests the page.
func (c client) get(t testing.TB, pairs ...string) answer {
	t.Helper()
	return c.do(t, outgoing(t, http.MethodGet, pageURL, pairs...))
}

// opened is a response whose body a test writes.
type opened struct{ *http.Response }

func bodyFrom(pairs ...string) (opened, *io.PipeWriter) {
	in, out := io.Pipe()
	return opened{&http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: headerOf(pairs...), Body: in, ContentLength: -1,
	}}, out
}

// noon is when the responses of these tests arrive.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// noonPlus is a date of HTTP, some seconds after noon.
func noonPlus(seconds int) string {
	return noon.Add(time.Duration(seconds) * time.Second).Format(http.TimeFormat)
}

// headerOf makes a header of pairs of names and values.
func headerOf(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}
