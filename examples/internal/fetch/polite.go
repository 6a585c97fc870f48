package fetch

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Headers that polite adds to an answer, for the caches to keep.
const (
	hashHeader  = "Fetch-Hash"  // of the content
	freshHeader = "Fetch-Fresh" // seconds for which the answer was fresh on arrival
)

// polite sends each request when its host has room, and reads the whole answer. It runs
// behind the caches.
type polite struct{ *Client }

var errSlow = errors.New("fetch: request took too long")

func (c polite) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.ask(r)
	if askOf(r).rules && r.Context().Err() == nil {
		resp, err = rulesAnswer(resp, err, c.cfg.DeadFor)
	}
	if err == nil {
		resp.Request, resp.Proto, resp.ProtoMajor, resp.ProtoMinor = r, "HTTP/1.1", 1, 1
	}
	return resp, err
}

// ask waits for a slot of the host and sends the request. Config.Timeout starts after the wait.
func (c polite) ask(r *http.Request) (*http.Response, error) {
	ctx, host := r.Context(), hostOf(r.URL)
	if err := c.alive(ctx, r.URL, host); err != nil {
		return nil, err
	}
	wait, stop := context.WithTimeout(ctx, maxWait)
	defer stop()
	// A final dot does not make it another server.
	leave, err := c.hosts.enter(wait, strings.Replace(host, ".:", ":", 1), max(askOf(r).delay, c.cfg.HostDelay))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &Error{URL: redacted(r.URL), Kind: ErrBusy}
	}
	defer leave()
	if err := c.alive(ctx, r.URL, host); err != nil { // another request may have failed meanwhile
		return nil, err
	}
	timed, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errSlow)
	defer cancel()
	resp, err := c.send(r.Clone(timed))
	if err != nil {
		return nil, c.failure(ctx, timed, r.URL, host, err)
	}
	return resp, nil
}

func (c polite) send(req *http.Request) (*http.Response, error) {
	req.Header.Del("Cache-Control") // only the cache needs it
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	req.Header.Set("Accept-Encoding", "gzip")
	c.requests.Add(1)
	resp, err := c.wire.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// Closing a body early closes the connection, so the rest is not read.
	defer func() { _ = resp.Body.Close() }()
	out := &http.Response{Status: resp.Status, StatusCode: resp.StatusCode, Header: c.header(resp.Header), Body: http.NoBody}
	switch is, _ := redirect(resp.StatusCode); {
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusNonAuthoritativeInfo:
		body, hash, err := c.read(resp, askOf(req))
		if err != nil {
			return nil, err
		}
		out.Header.Set(hashHeader, hash)
		out.Body, out.ContentLength = io.NopCloser(body), int64(body.Len())
		return out, nil
	case resp.StatusCode == http.StatusNotModified && req.Header["If-None-Match"] == nil && req.Header["If-Modified-Since"] == nil:
		return nil, errors.New("fetch: 304 without a condition")
	case resp.StatusCode == http.StatusNotModified:
		return out, nil
	case is && leads(resp.Header):
		out.Header.Set("Location", resp.Header.Get("Location"))
		return out, nil
	}
	// Any other status brings no content. No request asked for a 206.
	wait := RetryAfter(resp.Header.Get("Retry-After"), c.cfg.Now())
	return nil, &StatusError{URL: redacted(req.URL), Code: resp.StatusCode, RetryAfter: wait}
}

// header returns the headers to keep. For the cache every answer is fresh for a second;
// each Request says which age it accepts.
func (c polite) header(h http.Header) http.Header {
	out := http.Header{"Cache-Control": {"max-age=1"}}
	if _, _, noStore := directives(h); noStore {
		out.Set("Cache-Control", "no-store")
	}
	for _, name := range []string{"Content-Type", "Etag", "Last-Modified"} {
		if v := h.Get(name); v != "" {
			out.Set(name, v)
		}
	}
	out.Set(freshHeader, strconv.FormatInt(int64(freshFor(h, c.cfg.Now())/time.Second), 10))
	return out
}

func leads(h http.Header) bool {
	_, err := url.Parse(h.Get("Location"))
	return err == nil && h.Get("Location") != ""
}

// forever replaces a number of seconds that is too large to count (RFC 9111, section 1.2.2).
const forever = (math.MaxInt32 + 1) * time.Second

// freshFor returns how long an answer is fresh (RFC 9111, section 4.2). A value that does
// not parse means 0.
func freshFor(h http.Header, now time.Time) time.Duration {
	d, said, _ := directives(h)
	if expires, err := http.ParseTime(h.Get("Expires")); err == nil && !said {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date // the origin's clock may differ from ours
		}
		// Bound the difference before subtracting the age: Sub saturates at the ends of its range.
		d = min(max(expires.Sub(now), 0), forever)
	}
	if age, ok := seconds(h.Get("Age")); ok {
		d -= age
	}
	return max(d, 0)
}

// directives returns the first max-age (0 where reuse is forbidden), whether there was one,
// and whether there was a no-store.
func directives(h http.Header) (d time.Duration, said, noStore bool) {
	forbidden := false
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "no-store":
			forbidden, noStore = true, true
		case "no-cache":
			forbidden = true
		case "max-age":
			if !said {
				d, _ = seconds(strings.Trim(strings.TrimSpace(value), `"`))
				said = true
			}
		}
	}
	if forbidden {
		return 0, true, noStore
	}
	return d, said, false
}

// RetryAfter returns the wait that a Retry-After header asks for, in seconds or as a date, or 0.
func RetryAfter(v string, now time.Time) time.Duration {
	if d, ok := seconds(v); ok {
		return d
	}
	at, err := http.ParseTime(strings.TrimSpace(v))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), forever)
}

func seconds(v string) (time.Duration, bool) {
	v = strings.TrimSpace(v)
	if v == "" || strings.Trim(v, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return forever, true
	}
	return time.Duration(n) * time.Second, true
}
