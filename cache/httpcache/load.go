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
	inquiry
	c      *Cache
	next   http.Handler
	t      target
	req    http.Request // made by bare for Pages
	plain  plainContext
	client client

	fault  atomic.Pointer[cache.PanicError]
	strict atomic.Bool // the old page must not be served stale
	runs   atomic.Pointer[rendering]

	found    atomic.Pointer[page] // what the read of the entry returned; for an audit of it
	answered atomic.Bool          // our client has its answer; a load that runs now is a refresh
}

func (c *Cache) exchange(next http.Handler, w http.ResponseWriter, r *http.Request, t target) *exchange {
	x := &exchange{c: c, next: next, t: t, client: client{ctx: r.Context(), w: w}}
	x.more = x
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
	if cache.Auditing(ctx) {
		return x.audit(ctx)
	}
	x.begun()
	p, err := x.render(ctx)
	x.ended(p, err)
	return p, err
}

func (x *exchange) render(ctx context.Context) (*page, error) {
	old := x.previous(ctx)
	if old.leave {
		return x.unchanged(ctx, old.page)
	}
	x.strict.Store(old.page != nil && old.page.Strict)
	for bare := false; ; {
		n := x.start(ctx, &old, bare)
		x.runs.Store(n)
		if !n.wait(ctx) {
			return nil, ctx.Err() // no client waits, or the timeout passed
		}
		if n.page == nil && n.err == nil && n.verdict.fate == renew { // a 304 for another page
			old.check = nil
			continue
		}
		if !bare && n.verdict.fate == store && n.page != nil && n.page.shows(n.unkeyed()) {
			bare = true // another rendering is for everybody
			if n.own {
				x.own.Store(n.page)
			}
			continue
		}
		p, err := x.settle(ctx, n, &old)
		if bare && x.own.Load() != nil {
			x.why.Store(uint32(byQuery))
		}
		return p, err
	}
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
	case n.page == nil:
		return x.refused(ctx, old, &n.msg, v.why, ctx.Done())
	case v.fate == fail:
		x.failed.Store(true)
		x.status.Store(int32(n.page.Status)) //nolint:gosec // three digits
		c.stats.refuse(v.why)
		return nil, &failure{n.page, v.mine}
	case v.fate == share:
		c.stats.refuse(v.why)
		cache.Filling(ctx).NoStore()
		return n.page, nil
	case !c.until:
		keep := c.keep
		if !n.page.validated() {
			keep = 0 // it cannot be revalidated
		}
		c.lives(ctx, n.page, keep)
	default:
		if d, _ := rules.ParseCacheControl(n.rec.sent["Cache-Control"]); d.Has("must-revalidate") || d.Has("proxy-revalidate") {
			cache.Filling(ctx).SetStale(0)
			cache.Filling(ctx).SetStaleIfError(0)
		}
	}
	confirmed := n.prev != nil && n.msg.status == http.StatusNotModified
	return x.keep(ctx, n.page, confirmed, c.pathTag(x.t.path), c.siteTag(x.t.host, x.t.path))
}
