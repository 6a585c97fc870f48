package httpcache

import (
	"context"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// inquiry is one request that asks its origin if no stored page answers it. An exchange asks a handler,
// and a trip asks a server.
type inquiry struct {
	reading
	deeds
	more moreRules // nil: none
}

// moreRules are the rules of a Cache besides those of HTTP.
type moreRules interface {
	// refuses returns the reason why no response with the status is stored, or none.
	refuses(status int) reason

	// keyed reports whether a header needs no variant.
	keyed(name string) bool
}

// previous is what a load replaces. Two loads of one inquiry may run at once.
type previous struct {
	page   *page // of the entry, or nil
	check  *page // the page to revalidate, or nil
	leave  bool  // the page is for other clients: the load leaves it
	behind bool  // the load is a refresh: our client has the page
}

// previous returns what a load replaces.
func (x *inquiry) previous(ctx context.Context) (old previous) {
	prev, ok := cache.Previous[*page](ctx)
	if !ok || prev == nil {
		return old
	}
	x.had.Store(true)
	if x.k.until {
		return old
	}
	now := x.k.now().UnixMilli()
	if !x.k.selects(prev, x.h) {
		old.page, old.leave = prev, true
		return old
	}
	old.page, old.behind = prev, !x.newer.Load() && prev.refreshes(now)
	if prev.validated() {
		old.check = prev
	}
	return old
}

// unchanged ends a load that leaves the stored page as it is.
func (x *inquiry) unchanged(ctx context.Context, p *page) (*page, error) {
	x.kept.Store(true)
	x.k.lives(ctx, p, x.k.keep)
	return p, cache.ErrNotModified
}

// message is the header of a response.
type message struct {
	status         int
	h              http.Header // with canonical names
	asked          http.Header // of the request that it answers
	sent, received time.Time
}

// weigh decides what to do with a response that says how long it lives. It was made from one client's
// whole request, so other clients get it only if it is stored. Old is the old page, if it answers the
// request; confirms reports whether a 304 confirms it.
func (x *inquiry) weigh(m *message, old *page, confirms bool) verdict {
	if m.status == http.StatusNotModified && confirms {
		return verdict{fate: renew}
	}
	v := verdict{fate: store, life: x.k.rules.Lifetime(m.status, m.h, m.sent, m.received)}
	v.names, v.why = x.forbids(m, m.status, m.h, &v.life)
	switch {
	case standsIn(m.status) && old != nil && !x.newer.Load() && x.k.now().UnixMilli() < old.insteadUntil():
		v.fate, v.why, v.mine = fail, byStatus, true // whatever it says
	case v.why != none:
		v.fate = refuse
	}
	return v
}

// forbids returns the reason why a response must not be stored, or none and the request headers that
// select it.
func (x *inquiry) forbids(m *message, status int, h http.Header, life *rules.Lifetime) (names []string, why reason) {
	if why := crossed(h); why != none {
		return nil, why
	}
	var keyed func(name string) bool
	if x.more != nil {
		if why := x.more.refuses(status); why != none {
			return nil, why
		}
		if rules.Has(h, "Vary") || rules.Has(h, "Content-Encoding") {
			keyed = x.more.keyed
		}
	}
	return x.k.withholds(x.v, status, h, m.asked, life, keyed)
}

// confirm returns the page that a 304 has confirmed. If it may not be stored any more, it is our
// client's own.
func (x *inquiry) confirm(prev *page, m *message) (p *page, why reason) {
	if c := m.h["Set-Cookie"]; len(c) > 0 {
		x.cookies.Store(&c)
	}
	p, life := x.k.renewed(prev, m.h, m.sent, m.received)
	names, why := x.forbids(m, p.Status, p.header(), &life)
	if why == none {
		p.Vary = choices(m.asked, names, x.k.hashed)
	}
	return p, why
}

// refused ends a load whose response is not stored. The load ends when over is closed.
func (x *inquiry) refused(ctx context.Context, old *previous, m *message, why reason, over <-chan struct{}) (*page, error) {
	x.k.stats.refuse(why)
	switch {
	case x.v != nil && why == byVary: // the names must be learned again
		x.k.forget(ctx, x.id, over, m.sent)
	case old.page != nil && outdates(m, x.k.rules.Shared, why):
		x.k.forget(ctx, x.at(), over, m.sent)
	case old.behind:
		return nil, &refusal{why}
	}
	cache.Filling(ctx).NoStore()
	return &page{refused: why}, nil
}

// outdates reports whether a response that is not stored says that the old page is over.
func outdates(m *message, shared bool, why reason) bool {
	return why.whole() && rules.Outdates(m.status, shared && rules.Has(m.asked, "Authorization"))
}

// keep ends a load with a page that is stored under some tags.
func (x *inquiry) keep(ctx context.Context, p *page, confirmed bool, tags ...string) (*page, error) {
	if confirmed {
		cache.Filling(ctx).DependOnPrevious()
	}
	cache.Depend(ctx, tags...)
	if !cache.Filling(ctx).Stores() {
		x.k.stats.refuse(byLoad)
		x.why.Store(uint32(byLoad))
	} else {
		x.k.stats.of(p.Format).stored.Add(1)
	}
	return p, nil
}
