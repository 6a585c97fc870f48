package httpcache

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// exchange is one request that asks its source if no stored page answers it. It is the way of a
// handler's client and of a Transport's caller:
//
//  1. The client reads through the cache. One client leads the load; the others wait for its result.
//  2. The load starts a run of the source, in its own goroutine. The source writes its response into a
//     recorder. When the header is there, judge decides what becomes of the response.
//  3. A response that is stored is recorded to its end. The client that leads may follow it as it
//     comes. A slow reader delays no other client.
//  4. A response that is not stored, or too long, or endless goes to the client that leads alone. The
//     load ends, so the others send their own requests, and LoadTimeout does not cut it.
//  5. A load that takes longer than LoadTimeout goes on as long as the client that leads waits or reads.
type exchange struct {
	reading
	deeds
	source source
	client record.Client

	fault  atomic.Pointer[cache.PanicError]
	strict atomic.Bool // the old page must not be served stale
	runs   atomic.Pointer[run]
	usual  run // the first run; without an allocation, as one is usual
	ran    atomic.Bool

	found    atomic.Pointer[page.Page] // what the read of the entry returned; for an audit of it
	answered atomic.Bool               // our client has its answer; a load that runs now is a refresh
}

// source is what a missing page comes from: a handler, or the server that a Transport asks. It belongs to
// one exchange.
type source interface {
	moreRules

	// begin is called when a load begins; again says that it is not the first. If it reports true, the
	// load leaves the old page as it is.
	begin(ctx context.Context, old previous, again bool) (leave bool, err error)

	// request returns the request of a run, without the conditions about the old page, and sets what
	// the run must know of it. With bare set the request has no parameter that is not in the key.
	request(n *run, bare bool) *http.Request

	// serve records the response in n.rec. An error says that there is none, or that it was cut short.
	serve(n *run, r *http.Request) error

	// judge decides about the response in n.msg.
	judge(n *run) record.Verdict

	// page makes a page of a whole response.
	page(n *run, h http.Header, body []byte) *page.Page

	// keeps tells a load how long its page is kept. It returns the tags of the page.
	keeps(f *cache.Fill, n *run) (tags []string)

	// audit is the load of an audit.
	audit(ctx context.Context) (*page.Page, error)
}

// moreRules are the rules of a source besides those of HTTP.
type moreRules interface {
	// refuses returns the reason why no response with the status is stored, or none.
	refuses(status int) reason.Reason

	// keyed reports whether a header needs no variant.
	keyed(name string) bool
}

// previous is what a load replaces. Two loads of one exchange may run at once.
type previous struct {
	page   *page.Page // of the entry, or nil
	check  *page.Page // the page to revalidate, or nil
	leave  bool       // the page is for other clients: the load leaves it
	behind bool       // the load is a refresh: our client has the page
}

// message is the header of a response.
type message struct {
	status         int
	h              http.Header // with canonical names
	asked          http.Header // of the request that it answers
	sent, received time.Time
}

// load is the cache's loader. It lets the source answer for all clients that wait.
//
// A response that is not for everybody ends the load with a page that says so, not with an error.
// An error could be replaced by an older page, and the client would not get its own response.
//
// After LoadTimeout the load goes on as long as our client waits for the response, or reads it. The
// response is then stored, too.
func (x *exchange) load(ctx context.Context, _ string) (p *page.Page, err error) {
	if cache.Auditing(ctx) {
		return x.source.audit(ctx)
	}
	again := x.begun()
	defer func() { x.ended(p, err) }()
	old := x.previous(ctx)
	leave, err := x.source.begin(ctx, old, again)
	switch {
	case err != nil:
		return nil, err
	case leave:
		x.kept.Store(true)
		x.k.lives(cache.Filling(ctx), old.page, x.k.keep)
		return old.page, cache.ErrNotModified
	}
	return x.ask(ctx, &old)
}

// previous returns what a load replaces.
func (x *exchange) previous(ctx context.Context) (old previous) {
	prev, ok := cache.Previous[*page.Page](ctx)
	if !ok || prev == nil {
		return old
	}
	x.had.Store(true)
	if x.k.until {
		return old
	}
	now := x.k.now().UnixMilli()
	if !prev.Selects(x.h, x.k.hashed) {
		old.page, old.leave = prev, true
		return old
	}
	old.page, old.behind = prev, !x.newer.Load() && prev.Refreshes(now)
	if prev.Validated() {
		old.check = prev
	}
	return old
}

// ask runs the source: again without validators after a 304 about another page, and again without the
// parameters that are not in the key if the page shows one.
func (x *exchange) ask(ctx context.Context, old *previous) (*page.Page, error) {
	x.strict.Store(old.page != nil && old.page.Strict)
	for bare := false; ; {
		n := x.start(ctx, old, bare)
		x.runs.Store(n)
		switch {
		case !n.wait(ctx):
			return nil, ctx.Err() // no client waits, or the timeout passed
		case n.page == nil && n.err == nil && n.verdict.Fate == record.Renew:
			old.check = nil
			continue
		case !bare && n.verdict.Fate == record.Store && n.page != nil && n.shows:
			bare = true // another run is for everybody
			if n.own {
				x.own.Store(n.page)
			}
			continue
		}
		p, err := x.settle(ctx, n, old)
		if bare && x.own.Load() != nil {
			x.why.Store(uint32(reason.Query))
		}
		return p, err
	}
}

// settle turns the result of a run into the result of the load.
func (x *exchange) settle(ctx context.Context, n *run, old *previous) (*page.Page, error) {
	k := x.k
	x.why.Store(uint32(n.verdict.Why))
	if n.err != nil {
		x.failed.Store(true)
		if p, ok := errors.AsType[*cache.PanicError](n.err); ok && x.answered.Load() {
			k.logPanic(p) // no client's connection is left to break
		} else {
			x.fault.Store(p)
		}
		return nil, n.err
	}
	switch v := n.verdict; {
	case n.page == nil:
		return x.refused(ctx, old, &n.msg, v.Why)
	case v.Fate == record.Fail:
		x.failed.Store(true)
		x.status.Store(int32(n.page.Status)) //nolint:gosec // three digits
		k.stats.refuse(v.Why)
		return nil, &failure{page: n.page, mine: v.Mine}
	case v.Fate == record.Share:
		k.stats.refuse(v.Why)
		cache.Filling(ctx).NoStore()
		return n.page, nil
	}
	f := cache.Filling(ctx)
	cache.Depend(ctx, x.source.keeps(f, n)...)
	if n.prev != nil && n.msg.status == http.StatusNotModified {
		f.DependOnPrevious()
	}
	if !f.Stores() {
		k.stats.refuse(reason.Load)
		x.why.Store(uint32(reason.Load))
	} else {
		k.stats.of(n.page.Format).stored.Add(1)
	}
	return n.page, nil
}

// confirm returns the page that a 304 has confirmed. If it may not be stored any more, it is our
// client's own.
func (x *exchange) confirm(prev *page.Page, m *message) (p *page.Page, why reason.Reason) {
	if c := m.h["Set-Cookie"]; len(c) > 0 {
		x.cookies.Store(&c)
	}
	p, life := prev.Renewed(&x.k.rules, m.h, m.sent, m.received)
	names, why := x.forbids(m, p.Status, p.HeaderMap(), &life)
	if why == reason.None {
		p.Vary = page.Choices(m.asked, names, x.k.hashed)
	}
	p.Offer(len(x.k.encodings) > 0)
	return p, why
}

// refused ends a load whose response is not stored.
func (x *exchange) refused(ctx context.Context, old *previous, m *message, why reason.Reason) (*page.Page, error) {
	x.k.stats.refuse(why)
	switch {
	case x.v != nil && why == reason.Vary: // the names must be learned again
		x.k.forget(ctx, x.id, m.sent)
	case old.page != nil && outdates(m, x.k.rules.Shared, why):
		x.k.forget(ctx, x.at(), m.sent)
	case old.behind:
		return nil, &refusal{why}
	}
	cache.Filling(ctx).NoStore()
	return page.Refusing(why), nil
}

// outdates reports whether a response that is not stored says that the old page is over.
func outdates(m *message, shared bool, why reason.Reason) bool {
	return why.Whole() && rules.Outdates(m.status, shared && rules.Has(m.asked, "Authorization"))
}

// outlast takes the result of a read through the cache. If the read took too long and our client has
// begun the load, it waits for the end of the load. Otherwise a load that takes too long ends.
func (x *exchange) outlast(res cache.Result[*page.Page], err error) (cache.Result[*page.Page], error) {
	n := x.runs.Load()
	if n != nil && errors.Is(err, cache.ErrLoadTimeout) {
		n.stream()
		select {
		case <-x.end():
			res, err = x.outcome()
		case <-x.client.Ctx.Done():
		}
	}
	x.over()
	return res, err
}

// over says that our client does not wait any more. A load that takes too long then ends, unless the
// client reads its response.
func (x *exchange) over() {
	x.answered.Store(true) // before late is read; see run.wait
	if n := x.runs.Load(); n != nil && n.late.Load() && !n.teed.Load() {
		n.cancel(record.ErrNotRecorded)
	}
}

// result says what our client gets after a read through the cache: a page, or its own response for a
// reason, or what follows from an error. It passes on the panic of a source.
func (x *exchange) result(res cache.Result[*page.Page], err error) (cache.Result[*page.Page], reason.Reason, error) {
	if own := x.own.Load(); own != nil && (err != nil || res.Source == cache.Load) {
		return cache.Result[*page.Page]{Value: own, Source: cache.Load}, reason.None, nil
	}
	if f, ok := errors.AsType[*refusal](err); ok {
		return res, f.why, nil
	}
	if p, ok := errors.AsType[*cache.PanicError](err); ok {
		panic(repanic(p))
	}
	switch p := res.Value; {
	case err != nil:
	case p != nil && p.Refusal() != reason.None:
		return res, p.Refusal(), nil
	case !p.Sound():
		return res, reason.Memory, nil
	}
	return res, reason.None, err
}
