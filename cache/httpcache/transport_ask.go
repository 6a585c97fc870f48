package httpcache

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// maxTries is how often one request reads through the cache before it bypasses it: the entry of
// the URL, a variant, and each again if another caller's response is not good enough.
const maxTries = 4

// ask answers a request that the pages of this process cannot answer. Found means that there is a
// page, but it is not good enough.
func (t *Transport) ask(r *http.Request, way reading, found bool) (*http.Response, error) {
	fresh := way.w.NoCache || found && way.w.Restricts()
	for range maxTries {
		x := t.trip(r, way, fresh)
		resp, f := x.fetch()
		if resp != nil {
			resp.Request = r
			return resp, nil
		}
		res, why, err := x.result(f.res, f.err)
		p := res.Value
		switch {
		case err != nil:
			return t.failed(r, x, err)
		case why != reason.None:
			return t.alone(r, way.w, reason.Memory)
		case p == x.own.Load():
			return t.fetched(r, x, res), nil
		case !p.Selects(way.h, t.hashed):
			if !way.turn(p) {
				return t.alone(r, way.w, reason.Memory)
			}
			continue
		case x.accepts(res):
			return t.fetched(r, x, res), nil
		case way.w.OnlyIfCached:
			return t.notHere(r), nil
		}
		fresh = true
	}
	return t.alone(r, way.w, reason.Memory)
}

// accepts reports whether a result answers our caller.
func (x *trip) accepts(res cache.Result[*page.Page]) bool {
	p := res.Value
	switch {
	case res.Source == cache.Load && !x.kept.Load() && p.Checked >= x.began:
		return true // the origin has just sent or confirmed it
	case res.Stale && !x.w.Restricts() && !x.w.OnlyIfCached:
		return true
	}
	return x.w.Accepts(x.t.life(p, x.t.now().UnixMilli()), x.t.now().UnixMilli())
}

// failed answers after a read through the cache has failed.
func (t *Transport) failed(r *http.Request, x *trip, err error) (*http.Response, error) {
	if e, ok := errors.AsType[*failure](err); ok && e.err != nil {
		t.stats.of("other").misses.Add(1)
		return nil, e.err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if errors.Is(err, errNotHere) && x.w.OnlyIfCached {
		return t.notHere(r), nil
	}
	return t.alone(r, x.w, reason.Failure)
}

// alone lets Base answer a caller whose response cannot be shared.
func (t *Transport) alone(r *http.Request, w rules.Request, why reason.Reason) (*http.Response, error) {
	if w.OnlyIfCached {
		return t.notHere(r), nil
	}
	return t.pass(r, why)
}

// fetched answers by the result of a read through the cache, and counts it.
func (t *Transport) fetched(r *http.Request, x *trip, res cache.Result[*page.Page]) *http.Response {
	line, old := x.account(res, t.now().UnixMilli())
	resp := t.respond(r, &x.reading, res.Value, line, cmp.Or(old, "0"))
	x.addCookies(resp.Header, res.Source)
	return resp
}

// notHere answers only-if-cached (RFC 9111 §5.2.1.7).
func (t *Transport) notHere(r *http.Request) *http.Response {
	t.stats.bypass(reason.Only)
	return &http.Response{
		Status: page.StatusLine(http.StatusGatewayTimeout), StatusCode: http.StatusGatewayTimeout,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, Request: r,
		Header: http.Header{"Cache-Status": {t.lines.Passed(reason.Only)}},
	}
}
