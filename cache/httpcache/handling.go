package httpcache

import (
	"context"
	"net/http"
	"slices"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// handling is an exchange whose source is a handler.
type handling struct {
	exchange
	c     *Cache
	next  http.Handler
	t     address.Target
	req   http.Request // made by bare for Pages
	plain plainContext
}

func (c *Cache) handling(next http.Handler, w http.ResponseWriter, r *http.Request, t address.Target) *handling {
	x := &handling{c: c, next: next, t: t}
	x.source, x.client = x, record.Client{Ctx: r.Context(), Writer: w}
	x.reading = reading{k: &c.core, ctx: r.Context(), id: t.Key, h: r.Header, w: t.Wants}
	if c.cfg.pages() {
		x.req = bare(r)
		x.plain = plainContext{r.Context()}
		x.ctx = &x.plain
	} else {
		x.req = *r
	}
	if r.Method == http.MethodHead {
		x.client.Writer = nil // a HEAD has no body
	}
	return x
}

func (x *handling) begin(_ context.Context, old previous, _ bool) (leave bool, err error) {
	return old.leave, nil
}

func (x *handling) request(n *run, bare bool) (r *http.Request) {
	n.rec.Handler, n.rec.Coded, n.rec.Given = true, len(x.c.encodings) > 0, make(http.Header)
	if x.c.cfg.pages() {
		r = x.c.request(&x.t, x.req.Clone(n.ctx))
	} else {
		r, n.own = x.shown(n.ctx, bare)
		n.flushes = true
		n.parts = x.t.Saw.Any(rules.SawRange | rules.SawIfMatch | rules.SawIfNoneMatch)
	}
	n.req, r.Header = r.Header, r.Header.Clone() // the handler may change its header
	return r
}

func (x *handling) serve(n *run, r *http.Request) error {
	x.next.ServeHTTP(&n.rec, r)
	return nil
}

func (x *handling) judge(n *run) record.Verdict {
	if x.c.cfg.pages() {
		return x.c.judge(&x.t, n.msg.status, n.msg.h)
	}
	return x.weigh(&n.msg, n.old, n.prev != nil)
}

func (x *handling) page(n *run, h http.Header, body []byte) *page.Page {
	p := x.c.pageOf(n.msg.status, h, body, n.made)
	if x.c.cfg.pages() {
		return p
	}
	v := &n.rec.Verdict
	p.Vary = page.Choices(n.req, v.Names, false)
	p.Dated(n.msg.received, &v.Life)
	if query := x.req.URL.RawQuery; query != "" && v.Fate == record.Store {
		n.shows = p.Shows(address.Unkeyed(query, x.c.cfg.keeps(x.t.Path)))
	}
	return p
}

func (x *handling) keeps(f *cache.Fill, n *run) (tags []string) {
	c := x.c
	if !c.until {
		keep := c.keep
		if !n.page.Validated() {
			keep = 0 // it cannot be revalidated
		}
		c.lives(f, n.page, keep)
	} else if d, _ := rules.ParseCacheControl(n.rec.Sent["Cache-Control"]); d.Has("must-revalidate") || d.Has("proxy-revalidate") {
		f.SetStale(0)
		f.SetStaleIfError(0)
	}
	n.tags = [...]string{c.pathTag(x.t.Path), c.siteTag(x.t.Host, x.t.Path)}
	return n.tags[:]
}

// keyed reports whether a header needs no variant: its value is in the key, or is the same for all
// clients because it is hidden.
func (x *handling) keyed(name string) bool { return x.c.declares(&x.t, name) || x.c.hides(name) }

// refuses returns the reason why the cache stores no response with the status, or none.
func (x *handling) refuses(status int) reason.Reason {
	if all := x.c.cfg.Statuses; all != nil && !slices.Contains(all, status) {
		return reason.Status
	}
	return reason.None
}
