package httpcache

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// exchange is one request that the cache answers.
type exchange struct {
	reading
	deeds
	c      *Cache
	next   http.Handler
	t      target
	req    http.Request // made by bare for Pages
	plain  plainContext
	client client

	fault  atomic.Pointer[cache.PanicError]
	strict atomic.Bool // the old page must not be served stale
	runs   atomic.Pointer[rendering]
	fall   atomic.Pointer[failure] // the response to our client's own, whole request

	answered atomic.Bool // our client has its answer; a load that runs now is a refresh
}

func (c *Cache) exchange(next http.Handler, w http.ResponseWriter, r *http.Request, t target) *exchange {
	x := &exchange{c: c, next: next, t: t, client: client{ctx: r.Context(), w: w}}
	x.reading = reading{k: &c.core, ctx: r.Context(), id: t.key, h: r.Header, w: t.w}
	if c.cfg.pages() {
		x.req = bare(r)
		x.plain = plainContext{r.Context()}
		x.ctx = &x.plain
	} else {
		x.req = *r
	}
	if r.Method == http.MethodHead {
		x.client.w = nil // a HEAD has no body
	}
	return x
}

// failure is a load that ended with a 5xx. An older page may replace it.
type failure struct {
	page *page
	mine bool // not for everybody
}

// CacheCode makes failure a cache.Coder, so that the error is remembered with its page.
func (f *failure) CacheCode() string { return "status" }

func (f *failure) Error() string {
	return "httpcache: the handler answered " + http.StatusText(f.page.Status)
}

// load is the cache's loader. It lets the handler render for everybody.
//
// A response that is not for everybody ends the load with a page that says so, not with an error.
// An error could be replaced by an older page, and the client would not get its own response.
//
// After LoadTimeout the load goes on as long as our client waits for it. The page is then stored, too.
func (x *exchange) load(ctx context.Context, _ string) (*page, error) {
	x.begun()
	p, err := x.render(ctx)
	x.ended(p, err)
	return p, err
}

func (x *exchange) render(ctx context.Context) (*page, error) {
	old := x.previous(ctx)
	if old.others {
		x.c.lives(ctx, old.page, x.c.keep)
		return old.page, cache.ErrNotModified
	}
	for bare := false; ; {
		n := x.start(ctx, &old, bare)
		x.runs.Store(n)
		if !n.wait(ctx) {
			return nil, ctx.Err() // no client waits, or the timeout passed
		}
		if n.page == nil && n.err == nil && n.verdict.fate == renew { // a 304 for another page
			old.page = nil
			continue
		}
		if !bare && n.verdict.fate == store && n.page != nil && n.page.shows(n.unkeyed()) {
			bare = true // another rendering is for everybody
			if n.own {
				x.own.Store(n.page)
			}
			continue
		}
		return x.settle(ctx, n, &old)
	}
}

// previous is what a load replaces. Two loads of one exchange may run at once.
type previous struct {
	page   *page // the page to revalidate, or nil
	others bool  // the page is for other clients: the load leaves it
	again  bool  // the load asks again for the page of the entry
	behind bool  // the load is a refresh: our client has the page
}

func (x *exchange) previous(ctx context.Context) (old previous) {
	prev, ok := cache.Previous[*page](ctx)
	if !ok || prev == nil {
		return old
	}
	x.had.Store(true)
	x.strict.Store(prev.Strict)
	if x.c.cfg.pages() {
		return old
	}
	if !x.c.selects(prev, x.h) {
		if x.c.age(prev, x.c.now().UnixMilli())*1000 >= prev.Fresh+prev.Stale {
			return old
		}
		old.page, old.others = prev, true
		return old
	}
	old.again = true
	old.behind = !x.newer.Load() && prev.refreshes(x.c.now().UnixMilli())
	if prev.Get("Etag") != "" || prev.Get("Last-Modified") != "" {
		old.page = prev
	}
	return old
}

// settle turns the result of a rendering into the result of the load.
func (x *exchange) settle(ctx context.Context, n *rendering, old *previous) (*page, error) {
	c := x.c
	x.why.Store(uint32(n.verdict.why))
	if n.err != nil {
		x.failed.Store(true)
		if p, ok := errors.AsType[*cache.PanicError](n.err); ok && x.answered.Load() {
			c.logPanic(p) // no client's connection is left to break
		} else {
			x.fault.Store(p)
		}
		return nil, n.err
	}
	switch v := n.verdict; {
	case n.page == nil && x.v != nil && v.why == byVary: // the names must be learned again
		return c.refused(ctx, x.id, true, false, ctx.Done(), n.made, v.why)
	case n.page == nil:
		return c.refused(ctx, x.at(), v.ends && old.again, old.behind, ctx.Done(), n.made, v.why)
	case v.fate == fail:
		x.failed.Store(true)
		x.status.Store(int32(n.page.Status)) //nolint:gosec // three digits
		c.stats.refuse(v.why)
		f := &failure{n.page, v.mine}
		if n.own {
			x.fall.Store(f)
		}
		return nil, f
	case v.fate == share:
		c.stats.refuse(v.why)
		cache.Filling(ctx).NoStore()
		if old.again && n.ends(v.why) {
			c.forget(x.ctx, x.at(), ctx.Done(), n.made)
		}
	default:
		if !c.cfg.pages() {
			keep := c.keep
			if n.page.Get("Etag") == "" && n.page.Get("Last-Modified") == "" {
				keep = 0 // it cannot be revalidated
			}
			c.lives(ctx, n.page, keep)
		} else if d, _ := rules.ParseCacheControl(n.rec.sent["Cache-Control"]); d.Has("must-revalidate") || d.Has("proxy-revalidate") {
			cache.Filling(ctx).SetStale(0)
			cache.Filling(ctx).SetStaleIfError(0)
		}
		if n.prev != nil && n.page.Body != nil && n.rec.status == http.StatusNotModified {
			cache.Filling(ctx).DependOnPrevious()
		}
		x.why.Store(uint32(c.kept(ctx, n.page, c.pathTag(x.t.path), c.siteTag(x.t.host, x.t.path))))
	}
	return n.page, nil
}
