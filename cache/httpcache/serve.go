package httpcache

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

func (c *Cache) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	t, why := c.target(r)
	switch {
	case why != none && !c.cfg.Off && onlyIfCached(r, why):
		c.notHere(w)
	case why != none:
		c.stats.bypass(why)
		line := ""
		if !c.cfg.Off {
			line = c.lines.passed(why)
		}
		c.past(next, w, r, line)
	case c.cfg.Off:
		c.stats.bypass(byOff)
		c.alone(next, w, r, t, "")
	case t.noStore, t.cached, r.Method == http.MethodHead && !c.cfg.pages(), !c.cfg.pages() && rules.Demanding(r.Header):
		c.asItIs(next, w, r, t)
	default:
		c.through(next, w, r, t)
	}
}

// asItIs answers a client whose request must not store a page or render for everybody. The client
// may get a stored page.
func (c *Cache) asItIs(next http.Handler, w http.ResponseWriter, r *http.Request, t target) {
	x := c.exchange(next, w, r, t)
	if res, ok := x.find(); ok {
		line, age := x.account(res)
		c.answer(w, r, x.inCoding(res, r), line, age)
		return
	}
	switch {
	case t.cached:
		c.notHere(w)
	case t.noStore:
		c.forItself(next, w, r, t, byRequestNoStore)
	case r.Method == http.MethodGet && rules.Has(r.Header, "Range"):
		c.forItself(next, w, r, t, byRange) // the body may be too long to store
	case r.Method == http.MethodGet:
		c.forItself(next, w, r, t, byPrecondition)
	default:
		c.forItself(next, w, r, t, byHead)
	}
}

// onlyIfCached reports whether a request that bypasses the cache must not reach the handler. A
// request that Config.Bypass names is none of the cache's business.
func onlyIfCached(r *http.Request, why reason) bool {
	if why == byMethod || why == byProgram || !rules.Has(r.Header, "Cache-Control") {
		return false
	}
	d, _ := rules.ParseCacheControl(r.Header["Cache-Control"])
	return d.Has("only-if-cached")
}

// notHere answers only-if-cached (RFC 9111 §5.2.1.7).
func (c *Cache) notHere(w http.ResponseWriter) {
	c.stats.bypass(byCondition)
	w.Header().Add("Cache-Status", c.lines.passed(byCondition))
	unavailable(w, http.StatusGatewayTimeout)
}

// find returns a stored page that is fresh and meets the client's limits.
func (x *exchange) find() (res cache.Result[*page], ok bool) {
	for range 2 {
		res, err := x.c.pages.Fetch(x.ctx, x.key, nil, freshOnly...)
		p := res.Value
		if err != nil || !p.sound() || p.refused != none {
			return res, false
		}
		if x.c.selects(p, x.req.Header) {
			return res, !x.unwanted(p)
		}
		if !x.turn(p) {
			return res, false
		}
	}
	return res, false
}

// turn points x to the variant of its client. The variant's key has the headers that p varies on.
func (x *exchange) turn(p *page) (ok bool) {
	names := p.names()
	if x.v != nil || slices.ContainsFunc(names, func(name string) bool { // it identifies a client
		return rules.Has(x.req.Header, name) && slices.Contains(x.c.cfg.Credentials, name)
	}) {
		return false
	}
	x.v = variantOf(x.t.key, names, x.req.Header)
	x.key = x.v.id
	return x.c.fits(x.key)
}

// forItself renders for one client only, and counts the reason.
func (c *Cache) forItself(next http.Handler, w http.ResponseWriter, r *http.Request, t target, why reason) {
	c.stats.bypass(why)
	c.alone(next, w, r, t, c.lines.passed(why))
}

// through answers through the cache. If the stored page is a variant for other clients, its Vary
// names lead to this client's variant.
func (c *Cache) through(next http.Handler, w http.ResponseWriter, r *http.Request, t target) {
	x := c.exchange(next, w, r, t)
	p, done := x.try(w, r)
	if done {
		return
	}
	y := c.exchange(next, w, r, t)
	if y.turn(p) {
		_, done = y.try(w, r)
	}
	if !done {
		c.forItself(next, w, r, t, byVary)
	}
}

// try answers from the entry of x, or by a load of it. It reports false for a page that is for
// other clients.
func (x *exchange) try(w http.ResponseWriter, r *http.Request) (p *page, done bool) {
	c := x.c
	if c.memory.has(x.key, c.now) {
		if p, done, ok := x.stored(w, r); ok {
			return p, done
		}
		c.forItself(x.next, w, r, x.t, byMemory)
		return nil, true
	}
	res, err := x.outlast(x.fetch())
	if x.client.leave() {
		x.asked(c.cfg.Format(x.t.path, nil))
		return nil, true
	}
	if own := x.own.Load(); own != nil && (err != nil || res.Source == cache.Load) {
		x.asked(own.Format)
		c.answer(w, r, own, c.lines.miss(x.missed(byQuery)), "")
		return own, true
	}
	if err != nil {
		x.failedWith(w, r, err)
		return nil, true
	}
	p = res.Value
	switch {
	case p != nil && p.refused != none:
		c.refusedTo(x, w, r, p.refused)
	case !p.sound():
		c.refusedTo(x, w, r, byMemory)
	case p.only != nil && p.only != x:
		c.refusedTo(x, w, r, byMemory)
	case !c.selects(p, x.req.Header):
		return p, false
	case !x.led.Load() && res.Source == cache.Load && c.spent(p):
		c.refusedTo(x, w, r, byCondition)
	default:
		line, age := x.account(res)
		if cookies := x.cookies.Load(); cookies != nil && res.Source == cache.Load && x.led.Load() {
			w.Header()["Set-Cookie"] = append(w.Header()["Set-Cookie"], *cookies...)
		}
		c.answer(w, r, x.inCoding(res, r), line, age)
	}
	return p, true
}

// stored answers from a stored page, without a load that could refresh it. It reports false for ok
// if there is none, and for done if the page is for other clients.
func (x *exchange) stored(w http.ResponseWriter, r *http.Request) (p *page, done, ok bool) {
	res, err := x.c.pages.Fetch(x.ctx, x.key, nil)
	if p = res.Value; err != nil || !p.sound() || p.refused != none || x.unwanted(p) {
		return nil, false, false
	}
	if done = x.c.selects(p, x.req.Header); done {
		line, age := x.account(res)
		x.c.answer(w, r, x.inCoding(res, r), line, age)
	}
	return p, done, true
}

// outlast takes the result of a read through the cache. If the read took too long and our client has
// begun the load, it waits for the end of the load. Otherwise a load that takes too long ends.
func (x *exchange) outlast(res cache.Result[*page], err error) (cache.Result[*page], error) {
	n := x.runs.Load()
	if n != nil && errors.Is(err, cache.ErrLoadTimeout) {
		n.stream()
		select {
		case l := <-x.loaded:
			res, err = cache.Result[*page]{Value: l.page, Source: cache.Load}, l.err
		case <-x.client.ctx.Done():
		}
	}
	x.answered.Store(true)
	if n != nil && n.late.Load() && !n.teed.Load() {
		n.cancel(errNotRecorded)
	}
	return res, err
}

// spent reports whether a new page is unusable for all clients except the one that loaded it.
func (c *Cache) spent(p *page) bool {
	return !c.cfg.pages() && (p.Asks || c.age(p)*1000 >= p.Fresh+p.Stale)
}

// fetch reads through the cache. If the read panics, no handler may take over the client.
func (x *exchange) fetch() (res cache.Result[*page], err error) {
	defer func() {
		if p := recover(); p != nil {
			x.client.leave()
			panic(p)
		}
	}()
	if !x.t.limits.anew {
		res, err = x.c.pages.Fetch(x.ctx, x.key, x.load)
		if err != nil || x.t.limits == (limits{}) || res.Source == cache.Load || res.Value == nil || !x.unwanted(res.Value) {
			return res, err
		}
	}
	x.asks.Store(true)
	return x.c.pages.Fetch(x.ctx, x.key, x.load, anew...)
}

// account counts a request, and returns its Cache-Status and the Age of its page. An empty Age is
// not sent.
func (x *exchange) account(res cache.Result[*page]) (line, old string) {
	c, p := x.c, res.Value
	n := c.stats.of(p.Format)
	led, age := x.led.Load(), c.age(p)
	switch {
	case res.Stale && led && x.failed.Load() != 0:
		n.stale.Add(1)
		c.logPanic(x.fault.Load())
		m := x.missed(none)
		m.stale, m.status, m.instead = true, int(x.failed.Load()), true
		return c.lines.miss(m), strconv.FormatInt(age, 10)
	case res.Stale, res.Source != cache.Load:
		if res.Stale {
			n.stale.Add(1)
		} else {
			n.hits.Add(1)
		}
		s := c.lines.served(p, c.cfg.pages(), res.Stale, age)
		return s.line, s.old
	}
	if !c.cfg.pages() && age > 0 {
		old = strconv.FormatInt(age, 10)
	}
	if !led {
		n.coalesced.Add(1)
		m := x.missed(none)
		m.collapsed = true
		return c.lines.miss(m), old
	}
	n.misses.Add(1)
	m := x.missed(reason(x.why.Load()))
	m.stored = m.detail == none
	return c.lines.miss(m), old
}

// missed returns the Cache-Status data of a request that no stored page answered.
func (x *exchange) missed(why reason) miss {
	return miss{stale: x.renews.Load(), vary: x.v != nil, asked: x.asks.Load(), detail: why}
}

// asked counts a request for which the handler ran.
func (x *exchange) asked(format string) {
	n := x.c.stats.of(format)
	if x.led.Load() {
		n.misses.Add(1)
	} else {
		n.coalesced.Add(1)
	}
}
