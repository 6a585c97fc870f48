package httpcache

import (
	"net/http"

	"github.com/twofold-go/twofold/cache"
)

// serve answers a request.
func (c *Cache) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	t, why := c.target(r)
	switch {
	case why != none:
		c.stats.bypass(why)
		if !c.cfg.Off {
			w.Header().Add("Cache-Status", c.lines.passed(why))
		}
		c.past(next, w, r)
	case c.cfg.Off:
		c.stats.bypass(byOff)
		c.own(next, w, r, t, "")
	case t.noStore:
		c.unstored(next, w, r, t)
	case c.memory.has(t.key, c.cfg.Now):
		c.forItself(next, w, r, t, byMemory)
	default:
		c.through(next, w, r, t)
	}
}

// unstored answers a client that asks that nothing of it is stored. What others
// have left it may have.
func (c *Cache) unstored(next http.Handler, w http.ResponseWriter, r *http.Request, t target) {
	if p, ok := c.pages.Peek(r.Context(), t.key); ok && p != nil {
		c.stats.of(p.Format).hits.Add(1)
		age := c.age(p)
		c.answer(w, r, p, c.lines.served(false, age), age)
		return
	}
	c.forItself(next, w, r, t, byRequestNoStore)
}

// forItself renders for one client alone, and counts why.
func (c *Cache) forItself(next http.Handler, w http.ResponseWriter, r *http.Request, t target, why reason) {
	c.stats.bypass(why)
	c.own(next, w, r, t, c.lines.passed(why))
}

// through answers through the cache.
func (c *Cache) through(next http.Handler, w http.ResponseWriter, r *http.Request, t target) {
	x := c.exchange(next, w, r, t)
	if r.Method == http.MethodHead {
		x.client.w = nil // it wants no body, live or otherwise
	}
	res, err := c.fetch(x)
	x.answered.Store(true)
	if x.client.leave() {
		x.asked(c.cfg.Format(x.t.path, nil))
		return
	}
	if err != nil {
		x.failedWith(w, r, err)
		return
	}
	p := res.Value
	if p == nil || p.refused != none {
		c.refusedTo(x, w, r, p)
		return
	}
	line, age := x.account(res)
	c.answer(w, r, p, line, age)
}

// fetch asks the cache. Should it panic, nobody may take the client over any
// more.
func (c *Cache) fetch(x *exchange) (res cache.Result[*page], err error) {
	defer func() {
		if p := recover(); p != nil {
			x.client.leave()
			panic(p)
		}
	}()
	return c.pages.Fetch(&x.ctx, x.t.key, x.load)
}

// account counts what came of a request, and returns its Cache-Status and the age
// of a page that was there; -1 if it was not.
func (x *exchange) account(res cache.Result[*page]) (line string, age int64) {
	n := x.c.stats.of(res.Value.Format)
	led := x.led.Load()
	age = x.c.age(res.Value)
	switch {
	case res.Stale && led && x.failed.Load() != 0:
		n.stale.Add(1)
		x.c.logPanic(x.fault.Load())
		return x.c.lines.miss(miss{stale: true, status: int(x.failed.Load()), instead: true}), age
	case res.Stale:
		n.stale.Add(1)
		return x.c.lines.served(true, age), age
	case res.Source != cache.Load:
		n.hits.Add(1)
		return x.c.lines.served(false, age), age
	}
	if !led {
		n.coalesced.Add(1)
		return x.c.lines.miss(miss{collapsed: true}), -1
	}
	n.misses.Add(1)
	why := reason(x.why.Load())
	return x.c.lines.miss(miss{stale: x.renews.Load(), stored: why == none, detail: why}), -1
}

// asked counts a request for which the handler was asked.
func (x *exchange) asked(format string) {
	n := x.c.stats.of(format)
	if x.led.Load() {
		n.misses.Add(1)
	} else {
		n.coalesced.Add(1)
	}
}
