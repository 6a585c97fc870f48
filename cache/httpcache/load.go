package httpcache

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache"
)

// exchange is one request that is answered through the cache.
type exchange struct {
	c      *Cache
	next   http.Handler
	t      target
	key    string       // of the entry: t's, or that of a variant
	vary   []field      // of a variant: the names in its key, with their values
	req    http.Request // bare with KeyOnly
	plain  plainContext
	ctx    context.Context // of loads
	client client

	// What a load of ours did. It may run on when we have left.
	led    atomic.Bool
	renews atomic.Bool  // it was to replace something
	failed atomic.Int32 // the status of a failure, or noStatus
	fault  atomic.Pointer[cache.PanicError]
	why    atomic.Uint32 // the reason why what it brought is not stored
	strict atomic.Bool   // what there was must not be served when it is not fresh

	relearn atomic.Bool             // what the variant varies on is not in its key
	fall    atomic.Pointer[failure] // what came of its own request, whole
	asks    bool                    // what is there will not do
	other   []field                 // who has what is to be replaced; set before the handler runs

	answered atomic.Bool // our client was; a load that runs now refreshes
}

func (c *Cache) exchange(next http.Handler, w http.ResponseWriter, r *http.Request, t target) *exchange {
	x := &exchange{c: c, next: next, t: t, key: t.key, client: client{ctx: r.Context(), w: w}}
	if c.cfg.KeyOnly {
		x.req = bare(r)
		x.plain = plainContext{Context: r.Context(), keys: c.cfg.ContextKeys}
		x.ctx = &x.plain
	} else {
		x.req, x.ctx = *r, r.Context()
	}
	if r.Method == http.MethodHead {
		x.client.w = nil // it wants no body, live or otherwise
	}
	return x
}

// noStatus is the status of a failure that has none: the handler panicked, or was
// told to stop.
const noStatus = -1

// failure is a load that ended with a 5xx: an older page may stand in for it.
type failure struct {
	page *page
	mine bool // it is not for everybody
}

// CacheCode makes it a cache.Coder, so that it is remembered with its page.
func (f *failure) CacheCode() string { return "status" }

func (f *failure) Error() string {
	return "httpcache: the handler answered " + http.StatusText(f.page.Status)
}

// load is the cache's loader: it lets the handler render for everybody.
//
// A response that is not for everybody ends the load with a page that says so.
// It does not end with an error: for an error an older page may stand in, and
// that would keep the client from its own response.
func (x *exchange) load(ctx context.Context, _ string) (*page, error) {
	x.led.Store(true)
	prev := x.previous(ctx)
	for {
		n := x.start(ctx, prev)
		select {
		case <-n.done:
		case <-ctx.Done():
			select {
			case <-n.done:
			default:
				x.failed.Store(noStatus)
				return nil, ctx.Err() // nobody waits, or it took too long
			}
		}
		if n.page == nil && n.err == nil && n.verdict.fate == renew { // a 304 about something else
			prev = nil
			continue
		}
		return x.settle(ctx, n)
	}
}

// previous returns the page that the handler can be asked about, nil for none.
func (x *exchange) previous(ctx context.Context) *page {
	x.other = nil
	prev, ok := cache.Previous[*page](ctx)
	if !ok || prev == nil {
		return nil
	}
	x.renews.Store(true)
	x.strict.Store(prev.Strict)
	if x.c.cfg.until() {
		return nil
	}
	if !prev.selects(x.req.Header) {
		if x.c.age(prev)*1000 >= prev.Fresh+prev.Stale {
			return nil
		}
		x.other = prev.Vary // it is still served to others, and renewed for them
	}
	if prev.get("Etag") == "" && prev.get("Last-Modified") == "" {
		return nil
	}
	return prev
}

// settle turns what came of a rendering into the end of a load.
func (x *exchange) settle(ctx context.Context, n *rendering) (*page, error) {
	c := x.c
	x.why.Store(uint32(n.verdict.why))
	if n.err != nil {
		x.failed.Store(noStatus)
		if p, ok := errors.AsType[*cache.PanicError](n.err); ok && x.answered.Load() {
			c.logPanic(p) // there is nobody whose connection could break of it
		} else {
			x.fault.Store(p)
		}
		return nil, n.err
	}
	switch v := n.verdict; {
	case n.page == nil:
		cache.Filling(ctx).NoStore()
		return &page{refused: v.why}, nil
	case v.fate == fail:
		x.failed.Store(int32(n.page.Status)) //nolint:gosec // three digits
		c.stats.refuse(v.why)
		f := &failure{n.page, v.mine}
		if n.whole {
			x.fall.Store(f)
		}
		return nil, f
	case v.fate == share:
		c.stats.refuse(v.why)
		cache.Filling(ctx).NoStore()
	default:
		if !c.cfg.until() {
			keep := c.cfg.Keep
			if n.page.get("Etag") == "" && n.page.get("Last-Modified") == "" {
				keep = 0 // it cannot be asked about
			}
			n.page.lives(cache.Filling(ctx), c.cfg.Now().UnixMilli(), keep)
		} else if d, _ := parseCacheControl(n.rec.sent["Cache-Control"]); d.has("must-revalidate") || d.has("proxy-revalidate") {
			cache.Filling(ctx).SetStale(0)
			cache.Filling(ctx).SetStaleIfError(0)
		}
		if n.prev != nil && n.page.Body != nil && n.rec.status == http.StatusNotModified {
			cache.Filling(ctx).DependOnPrevious()
		}
		cache.Depend(ctx, c.pathTag(x.t.path))
		c.stats.of(n.page.Format).stored.Add(1)
	}
	return n.page, nil
}
