// Package exchange takes one request through the cache: it looks for a stored page, asks the source if none
// answers, and stores what may be stored. A Source is a handler, or the server of a client.
package exchange

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

// Exchange is one request that asks its source if no stored page answers it. It is the way of a
// handler's client and of a Transport's caller:
//
//  1. The client reads through the cache. One client leads the load; the others wait for its result.
//  2. The load starts a run of the source, in its own goroutine. The source writes its response into a
//     recorder. When the header is there, Decide says what becomes of the response.
//  3. A response that is stored is recorded to its end. The client that leads may follow it as it
//     comes. A slow reader delays no other client.
//  4. A response that is not stored, or too long, or endless goes only to the client that leads. The
//     load ends, so the others send their own requests, and LoadTimeout does not cut it.
//  5. A load that takes longer than LoadTimeout goes on as long as the client that leads waits or reads.
type Exchange struct {
	Reading
	deeds
	Source Source
	Client record.Client
	part   part

	Outer context.Context // of the request: the source does not see its values; nil: it sees them

	Host, Path string   // of the request: its pages have their tags
	Unkeyed    []string // the words that a page may show of parameters that are not in the key

	Fault  atomic.Pointer[cache.PanicError]
	Strict atomic.Bool // the old page must not be served stale
	runs   atomic.Pointer[Run]
	usual  Run // the first run; without an allocation, as one is usual
	ran    atomic.Bool

	working running // its runs

	Found    atomic.Pointer[page.Page] // what the read of the entry returned; for an audit of it
	answered atomic.Bool               // our client has its answer; a load that runs now is a refresh
}

// Source is what a missing page comes from: a handler, or the server that a Transport asks. It belongs to
// one exchange.
type Source interface {
	// Begin is called when a load begins. If it reports true, the load leaves the old page as it is.
	Begin(old Previous) (leave bool, err error)

	// Request returns the request of a run, without the conditions about the old page, and sets what
	// the run must know of it. With bare set the request has no parameter that is not in the key.
	Request(n *Run, bare bool) *http.Request

	// Serve records the response in n.Rec. An error says that there is none, or that it was cut short.
	Serve(n *Run, r *http.Request) error

	// Audit is the load of an audit.
	Audit(ctx context.Context) (*page.Page, error)

	// Keyed reports whether a header needs no variant.
	Keyed(name string) bool

	// Sees returns the lines of a header that needs a variant, as the source sees them.
	Sees(name string) []string
}

// Previous is what a load replaces. Two loads of one exchange may run concurrently.
type Previous struct {
	Page  *page.Page // of the entry, or nil
	check *page.Page // the page to revalidate, or nil
	Leave bool       // the page is for other clients: the load leaves it
}

// message is the header of a response.
type message struct {
	Status         int
	Header         http.Header // with canonical names
	sent, Received time.Time
}

// Load is the cache's loader. It lets the source answer for all clients that wait.
//
// A response that is not for everybody ends the load with a page that says so, not with an error.
// An error could be replaced by an older page, and the client would not get its own response.
//
// After LoadTimeout the load goes on as long as our client waits for the response, or reads it. The
// response is then stored, too.
func (x *Exchange) Load(ctx context.Context, _ string) (p *page.Page, err error) {
	if cache.Filling(ctx).Auditing() {
		return x.Source.Audit(ctx)
	}
	again := x.begun(cache.Filling(ctx).InBackground())
	defer func() { x.ended(p, err) }()
	if again && x.Client.Taken() {
		// An invalidation overtook the first load. Our client has its response; this load is for
		// the others.
		x.part.end()
		if ctx.Err() != nil { // there are no others
			cache.Filling(ctx).NoStore()
			return page.Refusing(reason.Load), nil
		}
	}
	old := x.previous(ctx)
	leave, err := x.Source.Begin(old)
	switch {
	case err != nil:
		return nil, err
	case leave:
		return x.leave(ctx, old.Page)
	}
	return x.ask(ctx, &old)
}

// previous returns what a load replaces.
func (x *Exchange) previous(ctx context.Context) (old Previous) {
	prev, ok := cache.Previous[*page.Page](ctx)
	if !ok || prev == nil {
		return old
	}
	x.had.Store(true)
	if x.Core.Until {
		return old
	}
	old.Page, old.Leave = prev, !prev.Selects(x.Header, x.Core.Hashed)
	if !old.Leave && prev.Validated() {
		old.check = prev
	}
	return old
}

// ask runs the source: again without validators after a 304 that confirms no page, and again without the
// parameters that are not in the key if the page shows one.
func (x *Exchange) ask(ctx context.Context, old *Previous) (*page.Page, error) {
	x.Strict.Store(old.Page != nil && old.Page.Strict)
	for bare := false; ; {
		n := x.Start(ctx, old, bare)
		if n == nil {
			return nil, ctx.Err()
		}
		x.runs.Store(n)
		switch {
		case !n.Wait(ctx):
			return nil, ctx.Err() // no client waits, or the timeout passed
		case n.Page == nil && n.Err == nil && n.Verdict.Fate == record.Renew:
			old.check = nil
			continue
		case !bare && n.Verdict.Fate == record.Store && n.Page != nil && n.Shows:
			bare = true // another run is for everybody
			if n.Own {
				x.Own.Store(n.Page)
			}
			continue
		}
		p, err := x.settle(ctx, n, old)
		if bare && x.Own.Load() != nil {
			x.Why.Store(uint32(reason.Query))
		}
		return p, err
	}
}

// settle turns the result of a run into the result of the load.
func (x *Exchange) settle(ctx context.Context, n *Run, old *Previous) (*page.Page, error) {
	k := x.Core
	x.Why.Store(uint32(n.Verdict.Why))
	if n.Err != nil {
		if p, ok := errors.AsType[*cache.PanicError](n.Err); ok && x.answered.Load() {
			k.LogPanic(p) // no client's connection is left to break
		} else {
			x.Fault.Store(p)
		}
		return nil, n.Err
	}
	switch v := n.Verdict; {
	case n.Page == nil:
		return x.refused(ctx, old, &n.Msg, v.Why)
	case v.Fate == record.Fail:
		x.Status.Store(int32(n.Page.Status)) //nolint:gosec // three digits
		k.Stats.Refuse(v.Why)
		return nil, &Failure{Page: n.Page, Mine: v.Mine}
	case v.Fate == record.Share:
		k.Stats.Refuse(v.Why)
		cache.Filling(ctx).NoStore()
		return n.Page, nil
	}
	f := cache.Filling(ctx)
	x.keeps(f, n)
	n.tags = k.TagsOf(x.Host, x.Path)
	tags := n.tags[:]
	if k.Hashed {
		tags = tags[:1]
	}
	cache.Depend(ctx, tags...)
	if n.Prev != nil && n.Msg.Status == http.StatusNotModified {
		f.DependOnPrevious()
	}
	if !f.Stores() {
		k.Stats.Refuse(reason.Load)
		x.Why.Store(uint32(reason.Load))
	} else {
		k.Stats.Of(n.Page.Format).Stored.Add(1)
	}
	return n.Page, nil
}

// confirm returns the page that a 304 has confirmed. If it may not be stored any more, it is our
// client's own. If its header has grown too long by 304s, there is no page: the source has a shorter one.
func (x *Exchange) confirm(prev *page.Page, m *message) (p *page.Page, why reason.Reason) {
	p, life := prev.Renewed(&x.Core.Rules, m.Header, m.sent, m.Received)
	h := p.HeaderMap()
	if rules.Size(h) > record.MaxHeader {
		return nil, reason.None
	}
	x.Status.Store(http.StatusNotModified)
	if c := m.Header["Set-Cookie"]; len(c) > 0 {
		x.cookies.Store(&c)
	}
	names, why := x.forbids(p.Status, h, &life)
	if why == reason.None {
		p.Vary = page.Choices(names, x.Source.Sees, x.Core.Hashed)
	}
	p.Offer(len(x.Core.Encodings) > 0)
	return p, why
}

// refused ends a load whose response is not stored.
func (x *Exchange) refused(ctx context.Context, old *Previous, m *message, why reason.Reason) (*page.Page, error) {
	x.Core.Stats.Refuse(why)
	switch {
	case x.Variant != nil && why == reason.Vary: // the names must be learned again
		x.Core.forget(ctx, x.ID, m.sent)
	case old.Page != nil && x.Outdates(m, why):
		x.Core.forget(ctx, x.At(), m.sent)
	case x.behind.Load():
		return nil, &refusal{why: why}
	}
	cache.Filling(ctx).NoStore()
	return page.Refusing(why), nil
}

// Outdates reports whether a response that is not stored says that the old page is over.
func (x *Exchange) Outdates(m *message, why reason.Reason) bool {
	return why.Whole() && rules.Outdates(m.Status, x.Core.Rules.Shared && len(x.Source.Sees("Authorization")) > 0)
}

// Outlast takes the result of a read through the cache. If the read took too long and our client has
// begun the load, it waits for the end of the load. Otherwise a load that takes too long ends.
func (x *Exchange) Outlast(res cache.Result[*page.Page], err error) (cache.Result[*page.Page], error) {
	n := x.runs.Load()
	if n != nil && errors.Is(err, cache.ErrLoadTimeout) {
		n.stream()
		select {
		case <-x.end():
			res, err = x.outcome()
		case <-x.Client.Ctx.Done():
		}
	}
	x.Over()
	return res, err
}

// Over says that our client does not wait any more. A load that takes too long then ends, unless the
// client reads its response.
func (x *Exchange) Over() {
	x.answered.Store(true) // before late is read; see Run.Wait
	if n := x.runs.Load(); n != nil && n.late.Load() && !n.taken.Load() {
		n.cancel(record.ErrNotRecorded)
	}
}

// Result says what our client gets after a read through the cache: a page, or its own response for a
// reason, or what follows from an error. It passes on the panic of a source.
func (x *Exchange) Result(res cache.Result[*page.Page], err error) (cache.Result[*page.Page], reason.Reason, error) {
	res, err = Left(res, err)
	if own := x.Own.Load(); own != nil && (err != nil || res.Source == cache.Load) {
		return cache.Result[*page.Page]{Value: own, Source: cache.Load}, reason.None, nil
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
