package httpcache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/twofold-go/twofold/cache"
)

// Warmed says what came of warming a URL.
type Warmed struct {
	Status int   // 0: there was no response
	Bytes  int64 // of its body
	Hit    bool  // it was there already
	Stored bool  // it is there now

	// Why says why it is not there, in the words of Cache-Status. "not-kept": the
	// response was fit to be stored, and the tiers did not keep it: it was
	// invalidated meanwhile, has a tag that cannot be invalidated, or is too large for
	// them.
	Why string
}

// Warm makes sure that there is an entry for a URL: it asks the handler if there
// is none. Target is a path with or without a query, for the first of
// Config.Hosts and http, or a whole URL; it is what the wrapped handler sees, so a
// path that an outer handler would shorten is to be given as it is then. The header is that of the client for
// whom it is; nil: none. A response that is not for everybody is dropped.
//
// It returns an error for a target that is no URL, when ctx ends, and when the
// handler panics or does not answer in time; a 5xx is no error.
func (h *Handler) Warm(ctx context.Context, target string, header http.Header) (Warmed, error) {
	c := h.c
	r, err := c.Request(ctx, target, header)
	if err != nil {
		return Warmed{}, err
	}
	t, why := c.target(r)
	switch {
	case why != none:
	case c.cfg.Off:
		why = byOff
	case t.noStore:
		why = byRequestNoStore
	case c.memory.has(t.key, c.cfg.Now): // of another variant, it may be; then it is only not warmed
		why = byMemory
	}
	if why != none {
		return Warmed{Why: why.String()}, nil
	}
	x := c.exchange(h.next, nil, r, t)
	res, err := c.pages.Fetch(x.ctx, t.key, x.load)
	x.answered.Store(true)
	if f, ok := errors.AsType[*failure](err); ok {
		return Warmed{Status: f.page.Status, Bytes: int64(len(f.page.Body)), Why: byStatus.String()}, nil
	}
	if err != nil {
		return Warmed{}, fmt.Errorf("httpcache: warm: %w", cause(err))
	}
	return c.warmed(ctx, x, res), nil
}

func (c *Cache) warmed(ctx context.Context, x *exchange, res cache.Result[*page]) Warmed {
	p := res.Value
	if p == nil || p.refused != none {
		why := byMemory
		if p != nil {
			why = p.refused
		}
		return Warmed{Why: why.String()}
	}
	w := Warmed{Status: p.Status, Bytes: int64(len(p.Body)), Hit: res.Source != cache.Load}
	if now, ok := c.pages.Peek(ctx, x.key); ok && now != nil {
		w.Stored = true
		return w
	}
	w.Why = "not-kept"
	if why := reason(x.why.Load()); why != none {
		w.Why = why.String()
	}
	return w
}

// Request returns the request of a client that asks for target, a path or a whole URL as
// for [Handler.Warm], with a header, for [Cache.KeyOf], Purge and Expire. Its scheme is that
// of target, whatever Config.Secure would make of the header.
func (c *Cache) Request(ctx context.Context, target string, header http.Header) (*http.Request, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("httpcache: target of %d bytes is no URL", len(target))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("httpcache: target of %d bytes is no URL", len(target))
	}
	if header != nil {
		r.Header = header.Clone()
	}
	r = r.WithContext(context.WithValue(ctx, schemeKey{}, u.Scheme == "https"))
	switch u.Scheme {
	case "https":
		r.TLS = tlsWithoutClient()
	case "http", "":
	default:
		return nil, fmt.Errorf("httpcache: target of %d bytes is of no scheme that is served", len(target))
	}
	if u.Host == "" {
		if len(c.cfg.Hosts) == 0 {
			return nil, errors.New("httpcache: the target names no host, and neither does Config.Hosts")
		}
		r.Host = c.cfg.Hosts[0]
	}
	r.URL = &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	return r, nil
}
