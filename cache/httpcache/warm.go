package httpcache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Warmed is the result of warming a URL.
type Warmed struct {
	Status int   // 0: there was no response
	Bytes  int64 // length of its body
	Hit    bool  // it was already stored
	Stored bool  // it is stored now

	// Why is the reason why it is not stored, as in Cache-Status. "not-kept" means that the
	// response could be stored, but the tiers did not keep it. It was invalidated meanwhile, has
	// an invalid tag, or is too large.
	Why string
}

// Warm makes sure that there is an entry for a URL. If there is none, the handler renders it. If
// responses vary on request headers, Warm does so for the variant that header selects. Target is a
// path with or without a query, for http and the first of Config.Hosts, or a whole URL. It is what
// the wrapped handler sees: if an outer handler shortens the path, give the short one. Header is
// the client's request header; nil means none. A response that is not for everybody is dropped.
//
// Warm returns an error if target is not a URL, if ctx ends, or if the handler panics or takes
// too long. A 5xx is not an error.
func (h *Handler) Warm(ctx context.Context, target string, header http.Header) (Warmed, error) {
	c := h.c
	r, err := c.Request(ctx, target, header)
	if err != nil {
		return Warmed{}, err
	}
	t, why := c.target(r)
	switch {
	case why != reason.None:
	case c.cfg.Off:
		why = reason.Off
	case t.Wants.NoStore:
		why = reason.RequestNoStore
	}
	x := c.handling(h.next, nil, r, t)
	for why == reason.None {
		if c.k.Memory.Has(x.At(), c.k.Now) { // perhaps for another variant; then this one is only not warmed
			why = reason.Memory
			break
		}
		res, err := exchange.Left(c.k.Pages.Fetch(x.Ctx, x.At(), x.Load))
		x.Found.Store(res.Value)
		x.Over()
		if f, ok := errors.AsType[*exchange.Failure](err); ok {
			return Warmed{Status: f.Page.Status, Bytes: int64(len(f.Page.Body)), Why: reason.Status.String()}, nil
		}
		p := res.Value
		switch {
		case err != nil:
			return Warmed{}, fmt.Errorf("httpcache: warm: %w", exchange.Cause(err))
		case p != nil && p.Refusal() != reason.None:
			why = p.Refusal()
		case !p.Sound():
			why = reason.Memory
		case !p.Selects(x.Header, c.k.Hashed):
			if x = x.turned(nil, r, p); x == nil {
				why = reason.Vary
			}
		case !p.IsLeft(): // if another client's load left it, it is read once more
			return c.warmed(ctx, x, res), nil
		}
	}
	return Warmed{Why: why.String()}, nil
}

func (c *Cache) warmed(ctx context.Context, x *handling, res cache.Result[*page.Page]) Warmed {
	p := res.Value
	w := Warmed{Status: p.Status, Bytes: int64(len(p.Body)), Hit: res.Source != cache.Load}
	if now, ok := c.k.Pages.Peek(ctx, x.At()); ok && now != nil {
		w.Stored = true
		return w
	}
	w.Why = "not-kept"
	if why := reason.Reason(x.Why.Load()); why != reason.None {
		w.Why = why.String()
	}
	return w
}

// Request returns the request of a client for target, for use with [Cache.Key], Purge and
// Expire. Target is a path or a whole URL as for [Handler.Warm]; header is the client's header.
// The scheme is that of target; Config.Secure does not change it.
func (c *Cache) Request(ctx context.Context, target string, header http.Header) (*http.Request, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("httpcache: target of %d bytes is not a URL", len(target))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("httpcache: target of %d bytes is not a URL", len(target))
	}
	if header != nil {
		r.Header = rules.Canonical(header)
	}
	r = r.WithContext(context.WithValue(ctx, schemeKey{}, u.Scheme == "https"))
	switch u.Scheme {
	case "https":
		r.TLS = tlsWithoutClient()
	case "http", "":
	default:
		return nil, fmt.Errorf("httpcache: target of %d bytes has a scheme other than http and https", len(target))
	}
	if u.Host == "" {
		if len(c.cfg.Hosts) == 0 {
			return nil, errors.New("httpcache: the target has no host, and Config.Hosts is empty; set one of them")
		}
		r.Host = c.cfg.Hosts[0]
	} else if u.Path == "" {
		u.Path = "/" // as every client sends it (RFC 9110 §4.2.3)
	}
	r.URL = &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery, ForceQuery: u.ForceQuery}
	return r, nil
}
