package httpcache

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// maxTries is how often one request reads through the cache before it bypasses it: the entry of
// the URL, a variant, and each again if another caller's response is not good enough.
const maxTries = 4

// ask answers a request that the pages of this process cannot answer. Found means that there is a
// page, but it is not good enough.
func (t *Transport) ask(r *http.Request, h http.Header, id string, v *variant, w rules.Request, found bool) (*http.Response, error) {
	fresh := w.NoCache || found && w.Restricts()
	for range maxTries {
		x := t.trip(r, id, v, w, fresh)
		resp, f := x.fetch()
		if resp != nil {
			resp.Request = r
			return resp, nil
		}
		if f.err != nil {
			return t.failed(r, x, f.err)
		}
		if own := x.own.Load(); own != nil && x.led.Load() && f.res.Source == cache.Load {
			f.res.Value = own
			return t.fetched(r, x, f.res), nil
		}
		p := f.res.Value
		switch {
		case p == nil || p.refused != none:
			return t.alone(r, w, byMemory)
		case !t.selects(p, h) && v != nil:
			return t.alone(r, w, byMemory)
		case !t.selects(p, h):
			v = variantOf(id, p.names(), h)
			continue
		case x.accepts(f.res):
			return t.fetched(r, x, f.res), nil
		case w.OnlyIfCached:
			return t.notHere(r), nil
		}
		fresh = true
	}
	return t.alone(r, w, byMemory)
}

// accepts reports whether a result answers our caller.
func (x *trip) accepts(res cache.Result[*page]) bool {
	p := res.Value
	switch {
	case res.Source == cache.Load && !x.renewed.Load() && p.Checked >= x.began:
		return true // the origin has just sent or confirmed it
	case res.Stale:
		return !x.w.Restricts() && !x.w.OnlyIfCached || x.w.Accepts(p.life(), x.t.now().UnixMilli())
	}
	return x.w.Accepts(p.life(), x.t.now().UnixMilli())
}

// failed answers after a read through the cache has failed.
func (t *Transport) failed(r *http.Request, x *trip, err error) (*http.Response, error) {
	if e, ok := errors.AsType[*tripError](err); ok && e.err != nil {
		t.stats.of("other").misses.Add(1)
		return nil, e.err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if _, ok := errors.AsType[*refusal](err); ok {
		return t.alone(r, x.w, byMemory)
	}
	if errors.Is(err, errNotHere) && x.w.OnlyIfCached {
		return t.notHere(r), nil
	}
	return t.alone(r, x.w, byFailure)
}

// alone lets Base answer a caller whose response cannot be shared.
func (t *Transport) alone(r *http.Request, w rules.Request, why reason) (*http.Response, error) {
	if w.OnlyIfCached {
		return t.notHere(r), nil
	}
	return t.pass(r, why)
}

// fetched answers by the result of a read through the cache, and counts it.
func (t *Transport) fetched(r *http.Request, x *trip, res cache.Result[*page]) *http.Response {
	p, now := res.Value, t.now().UnixMilli()
	n := t.stats.of(p.Format)
	led := x.led.Load()
	var line string
	switch {
	case res.Stale && led && x.fault.Load():
		n.stale.Add(1)
		line = t.lines.miss(miss{stale: true, status: int(x.status.Load()), instead: true})
	case res.Stale:
		n.stale.Add(1)
		line = t.lines.staleHit + ttl(p, now)
	case res.Source != cache.Load || x.renewed.Load():
		n.hits.Add(1)
		line = t.lines.hit + ttl(p, now)
	case !led:
		n.coalesced.Add(1)
		line = t.lines.miss(miss{collapsed: true, vary: x.v != nil})
	default:
		n.misses.Add(1)
		line = t.lines.miss(miss{stale: true, asked: x.w.NoCache, status: int(x.status.Load()), stored: x.own.Load() == nil})
		if c := x.cookies.Load(); c != nil { // for this caller only, and not stored
			resp := t.respond(r, p, line, now)
			resp.Header["Set-Cookie"] = slices.Clone(*c)
			return resp
		}
	}
	return t.respond(r, p, line, now)
}

// hit answers by a page of this process.
func (t *Transport) hit(r *http.Request, p *page, now int64) *http.Response {
	t.stats.of(p.Format).hits.Add(1)
	return t.respond(r, p, t.lines.hit+ttl(p, now), now)
}

// ttl says how much longer a page is fresh, in whole seconds.
func ttl(p *page, now int64) string {
	return ";ttl=" + strconv.FormatInt((p.Made+p.Fresh-now)/1000, 10)
}

// notHere answers only-if-cached (RFC 9111 §5.2.1.7).
func (t *Transport) notHere(r *http.Request) *http.Response {
	t.stats.bypass(byOnly)
	return &http.Response{
		Status: statusLine(http.StatusGatewayTimeout), StatusCode: http.StatusGatewayTimeout,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, Request: r,
		Header: http.Header{"Cache-Status": {t.lines.passed(byOnly)}},
	}
}
