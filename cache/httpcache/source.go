package httpcache

import (
	"context"
	"net/http"
	"slices"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

func (x *handling) Begin(_ context.Context, old exchange.Previous, _ bool) (leave bool, err error) {
	return old.Leave, nil
}

func (x *handling) Request(n *exchange.Run, bare bool) (r *http.Request) {
	n.Rec.Handler, n.Rec.Coded, n.Rec.Given = true, len(x.c.k.Encodings) > 0, make(http.Header)
	if x.c.cfg.pages() {
		r = x.c.request(&x.t, x.req.Clone(n.Ctx))
	} else {
		r, n.Own = x.shown(n.Ctx, bare)
		n.Parts = x.t.Saw.Any(rules.SawRange | rules.SawIfMatch | rules.SawIfNoneMatch)
	}
	return r
}

func (x *handling) Serve(n *exchange.Run, r *http.Request) error {
	x.next.ServeHTTP(&n.Rec, r)
	return nil
}

func (x *handling) Judge(n *exchange.Run) record.Verdict {
	if x.c.cfg.pages() {
		return x.c.judge(&x.t, n.Msg.Status, n.Msg.Header)
	}
	return x.Weigh(&n.Msg, n.Old, n.Prev != nil)
}

func (x *handling) Page(n *exchange.Run, h http.Header, body []byte) *page.Page {
	p := x.c.pageOf(n.Msg.Status, h, body, n.Made)
	if x.c.cfg.pages() {
		return p
	}
	return p
}

// Shows reports whether a page shows a parameter that is not in the key. With Pages the handler sees none.
func (x *handling) Shows(p *page.Page) bool {
	return !x.c.cfg.pages() && x.req.URL.RawQuery != "" && p.Shows(address.Unkeyed(x.req.URL.RawQuery, x.c.cfg.keeps(x.t.Path)))
}

func (x *handling) Keeps(f *cache.Fill, n *exchange.Run) (tags []string) {
	c := x.c
	if !c.k.Until {
		keep := c.k.Keep
		if !n.Page.Validated() {
			keep = 0 // it cannot be revalidated
		}
		c.k.Lives(f, n.Page, keep)
	} else if d, _ := rules.ParseCacheControl(n.Rec.Sent["Cache-Control"]); d.Has("must-revalidate") || d.Has("proxy-revalidate") {
		f.SetStale(0)
		f.SetStaleIfError(0)
	}
	n.Tags = c.k.TagsOf(x.t.Host, x.t.Path)
	return n.Tags[:]
}

// Keyed reports whether a header needs no variant: its value is in the key, or the handler sees it of no
// client.
func (x *handling) Keyed(name string) bool { return x.c.declares(&x.t, name) || x.unseen(name) }

// Sees returns the lines of a header that is in no key.
func (x *handling) Sees(name string) []string {
	if x.c.cfg.pages() || x.unseen(name) {
		return nil
	}
	return x.Header[name]
}

// unseen reports whether the handler sees a header of no client: it is dropped, or it is a credential.
func (x *handling) unseen(name string) bool {
	return x.drops(name) || slices.Contains(x.c.cfg.Credentials, name)
}

// Refuses returns the reason why the cache stores no response with the status, or none.
func (x *handling) Refuses(status int) reason.Reason {
	if all := x.c.cfg.Statuses; all != nil && !slices.Contains(all, status) {
		return reason.Status
	}
	return reason.None
}
