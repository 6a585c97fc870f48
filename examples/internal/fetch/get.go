package fetch

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request says what to get. URL is required. Requests that differ have separate cache entries.
type Request struct {
	URL      string        // absolute, http or https, without user information
	Accept   string        // the Accept header. Empty means "*/*"
	Robots   bool          // obeys robots.txt, for redirects too
	MaxAge   time.Duration // oldest answer that the cache may serve. Zero means that it is validated at the origin
	Version  string        // of the reader. A new version does not get answers stored under an old one
	MaxBytes int64         // lowers Config.MaxBytes. Zero means Config.MaxBytes
	Packed   bool          // compress the body while reading it, so it is never in memory uncompressed
}

// Response is an answer with status 200 or 203. Any other status is an error.
type Response struct {
	URL         string // of the answer, after redirects
	Status      int    // 200 or 203
	ContentType string // as the origin sent it
	Body        []byte // in the charset of the origin, see Text. With Packed: gzip of it
	Packed      bool   // as in the request
	Hash        string // SHA-256 of the uncompressed content, in lower-case hexadecimal

	NotModified bool          // the origin answered with 304
	FromCache   bool          // the origin got no request
	MovedTo     string        // the final URL if there were redirects and all were permanent
	FreshFor    time.Duration // for how much longer the origin calls its answer fresh. Zero means that it does not say, or forbids reuse
}

// Open returns the content as a stream, decompressed, even if no header says that it is gzip. An
// error means that the content, or a packed body, is damaged.
func (r Response) Open() (io.Reader, error) {
	body := io.Reader(bytes.NewReader(r.Body))
	if r.Packed {
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, &Error{Kind: ErrEncoding, Err: err, Detail: "packed body"}
		}
		body = z
	}
	content, err := unlabelled(body)
	if err != nil {
		return nil, &Error{Kind: ErrEncoding, Err: err, Detail: "gzip"}
	}
	return content, nil
}

// ask holds what a request needs in addition to its header. It travels in the context.
type ask struct {
	version   string
	max       int64
	pack      bool
	poll      bool // validate at the origin
	obey      bool // robots.txt
	rules     bool // this request is for a robots.txt itself
	redirects int
	delay     time.Duration
}

type askKey struct{}

func askOf(r *http.Request) *ask { return r.Context().Value(askKey{}).(*ask) }

func (a *ask) with(ctx context.Context) context.Context { return context.WithValue(ctx, askKey{}, a) }

func (a *ask) request(ctx context.Context, u *url.URL) *http.Request {
	r := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return r.WithContext(a.with(ctx))
}

// Get returns the content of the URL. It waits as long as ctx allows.
func (c *Client) Get(ctx context.Context, r Request) (Response, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return Response{}, err
	}
	got, err := c.do(req, obedient{c})
	if err != nil {
		return Response{}, err
	}
	return response(r, got), nil
}

// request turns a Request into an HTTP request.
func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	u, err := c.parseURL(r.URL)
	if err != nil {
		return nil, err
	}
	a := &ask{version: r.Version, max: c.cfg.MaxBytes, pack: r.Packed, poll: r.MaxAge < time.Second, obey: r.Robots, redirects: maxRedirects}
	if r.MaxBytes > 0 {
		a.max = min(a.max, r.MaxBytes)
	}
	req := a.request(ctx, u)
	req.Header.Set("Accept", cmp.Or(r.Accept, "*/*"))
	req.Header.Set("Cache-Control", "max-stale, max-age="+strconv.FormatInt(int64(r.MaxAge/time.Second), 10))
	return req, nil
}

type answer struct {
	*http.Response
	body []byte
}

// do sends a request through a transport, follows redirects, and reads the answer.
func (c *Client) do(req *http.Request, t http.RoundTripper) (answer, error) {
	client := http.Client{Transport: t, CheckRedirect: c.redirect}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, plain(req.Context(), err)
	}
	defer func() { _ = resp.Body.Close() }()                                           // reading has already reported any error
	body := bytes.NewBuffer(make([]byte, 0, max(resp.ContentLength, 0)+bytes.MinRead)) // MinRead leaves room to see the end
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return answer{}, plain(req.Context(), err)
	}
	return answer{resp, body.Bytes()}, nil
}

// redirect checks the target of a redirect.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	next, err := c.checkURL(req.URL)
	if err != nil {
		return err
	}
	req.URL = next
	req.Header.Del("Referer")
	if len(via) > askOf(req).redirects {
		return &Error{URL: redacted(next), Kind: ErrTooManyRedirects}
	}
	if slices.ContainsFunc(via, func(r *http.Request) bool { return r.URL.String() == next.String() }) {
		return &Error{URL: redacted(next), Kind: ErrRedirectLoop}
	}
	return nil
}

func response(r Request, got answer) Response {
	resp, h := got.Response, got.Header
	age, _ := seconds(h.Get("Age"))
	fresh, _ := seconds(h.Get(freshHeader))
	out := Response{
		URL: resp.Request.URL.String(), Status: resp.StatusCode, ContentType: h.Get("Content-Type"), Body: got.body, Packed: r.Packed,
		Hash: h.Get(hashHeader), FreshFor: max(fresh-age, 0), FromCache: true, NotModified: says(resp, ";fwd-status=304"),
	}
	hops, permanent := 0, true
	for hop := resp; hop != nil; hop = hop.Request.Response {
		out.FromCache = out.FromCache && says(hop, ";hit")
		if _, forGood := redirect(hop.StatusCode); hop != resp {
			hops, permanent = hops+1, permanent && forGood
		}
	}
	if hops > 0 && permanent {
		out.MovedTo = out.URL
	}
	return out
}

func says(resp *http.Response, what string) bool {
	return strings.Contains(resp.Header.Get("Cache-Status"), what)
}

func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: ErrTimeout, Err: err}
	}
	return &Error{Kind: ErrProtocol, Err: err}
}
