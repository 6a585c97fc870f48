package fetch

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// stored is an answer as it is cached. It does not change.
type stored struct {
	Head head
	Body []byte
}

// head is all of an answer but its body. It is comparable.
type head struct {
	URL          string
	Status       int
	ContentType  string
	Hash         string
	ETag         string
	LastModified string
	MovedTo      string
	FreshFor     time.Duration
	Confirmed    bool // the load that brought it found what was there before
}

func (s stored) size() int64 {
	h := &s.Head
	return int64(len(s.Body)+len(h.URL)+len(h.ContentType)+len(h.Hash)+len(h.ETag)+len(h.LastModified)+len(h.MovedTo)) + 256
}

// load is the loader of an answer. If the cache holds one, of whatever age, the
// origin is asked whether it still stands.
//
// A 304 may bring new validators and a new lifetime (RFC 9111, section 4.3.4), so
// cache.ErrNotModified, which keeps the old value as it is, is right only when it
// brought none; that is what a feed answers most of the time.
func (c *Client) load(ctx context.Context, q *question, wire *atomic.Int64) (stored, error) {
	prev, have := cache.Previous[stored](ctx)
	if !have {
		prev = stored{}
	}
	a, err := c.follow(ctx, q, prev.Head)
	wire.Add(a.wire)
	if err != nil {
		return stored{}, err
	}
	s := stored{Head: a.head(c.cfg.Now()), Body: a.body}
	if a.status == http.StatusNotModified {
		s = a.confirm(s, prev)
	} else if have && s.Head.Hash == prev.Head.Hash {
		s.Body, s.Head.Confirmed = prev.Body, true
	}
	if have && s.Head == prev.Head {
		return prev, cache.ErrNotModified
	}
	return s, nil
}

// head makes of an answer what is stored of it.
func (a *answer) head(now time.Time) head {
	h := head{
		URL: a.url.String(), Status: a.status, ContentType: a.header.Get("Content-Type"), Hash: a.hash,
		ETag: a.header.Get("ETag"), LastModified: a.header.Get("Last-Modified"), FreshFor: freshFor(a.header, now),
	}
	if a.moved {
		h.MovedTo = h.URL
	}
	return h
}

// confirm returns the old answer with what a 304 says anew. Validators are kept
// verbatim, and those that it leaves out stay: an origin that says "Expires: 0"
// beside them asks for a question each time, not for the whole feed.
func (a *answer) confirm(s, prev stored) stored {
	h := prev.Head
	if s.Head.ETag != "" {
		h.ETag = s.Head.ETag
	}
	if s.Head.LastModified != "" {
		h.LastModified = s.Head.LastModified
	}
	h.MovedTo, h.FreshFor, h.Confirmed = s.Head.MovedTo, s.Head.FreshFor, true
	return stored{Head: h, Body: prev.Body}
}

// follow asks, and follows redirects. Validators are sent only to the URL that
// gave them: another one may use the same ETag for something else.
func (c *Client) follow(ctx context.Context, q *question, prev head) (answer, error) {
	at, header, permanent := q.url, q.header, true
	been := map[string]bool{}
	var wire int64
	for hop := 0; ; hop++ {
		been[at.String()] = true
		call := exchange{url: at, accept: q.accept, header: header, max: q.max, cut: q.cut, pack: q.pack, delay: c.cfg.HostDelay}
		if prev.URL == at.String() {
			call.etag, call.lastModified = prev.ETag, prev.LastModified
		}
		if q.robots {
			delay, err := c.obey(ctx, at)
			if err != nil {
				return answer{wire: wire}, err
			}
			call.delay = max(call.delay, delay)
		}
		a, err := c.exchange(ctx, &call)
		wire += a.wire
		a.wire = wire
		is, forGood := redirect(a.status)
		if err != nil || !is {
			a.moved = hop > 0 && permanent
			return a, err
		}
		next, err := c.next(q, &a, hop, been)
		if err != nil {
			return answer{wire: wire}, err
		}
		if !keepsSecrets(at, next) {
			header = nil
		}
		at, permanent = next, permanent && forGood
	}
}

// next returns where a redirect leads, if it may be followed.
func (c *Client) next(q *question, a *answer, hop int, been map[string]bool) (*url.URL, error) {
	ref, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.header.Get("Location") == "" {
		return nil, &StatusError{URL: redacted(a.url), Code: a.status}
	}
	next, err := c.checkURL(a.url.ResolveReference(ref))
	if err != nil {
		return nil, err
	}
	switch {
	case been[next.String()]:
		return nil, &Error{URL: redacted(next), Kind: ErrRedirectLoop}
	case hop >= q.redirects:
		return nil, &Error{URL: redacted(next), Kind: ErrTooManyRedirects}
	}
	return next, nil
}
