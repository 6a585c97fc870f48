package exchange

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// Reading is the way of one request to a stored page.
type Reading struct {
	Core    *Core
	Ctx     context.Context  // of look-ups and loads
	ID      string           // the entry of the URL
	Variant *address.Variant // nil: the entry of the URL
	Header  http.Header      // of the request, with canonical names
	Saw     rules.Seen       // what is in h
	Wants   rules.Request    // what the client requires
}

// At returns the key of the wanted entry.
func (x *Reading) At() string {
	if x.Variant != nil {
		return x.Variant.ID
	}
	return x.ID
}

// Turn points x from the entry of the URL, whose page p is for other requests, to the variant of its
// own request. It reports false if there can be none.
func (x *Reading) Turn(p *page.Page) bool {
	if x.Variant != nil {
		return false
	}
	v := address.VariantOf(x.ID, p.Names(), x.Header)
	if !x.Core.Fits(v.ID, 0) {
		return false
	}
	x.Variant = v
	return true
}

// Find looks for the page that answers the request, without a load. If the entry of the URL is for
// other requests, it looks for the variant. It reports false if there is none.
func (x *Reading) Find(opts []cache.Option) (res cache.Result[*page.Page], ok bool) {
	for {
		res, err := x.Core.Pages.Fetch(x.Ctx, x.At(), nil, opts...)
		p := res.Value
		if err != nil || !p.Sound() || p.Refusal() != reason.None || p.IsLeft() { // from the load of another request
			return res, false
		}
		if p.Selects(x.Header, x.Core.Hashed) {
			return res, true
		}
		if !x.Turn(p) {
			return res, false
		}
	}
}

// Stored is Find in all tiers. With fresh set, it looks for a fresh page before it returns a stale one: if this
// process has a stale page, another one may have stored a fresh page in the remote tier.
func (x *Reading) Stored(fresh bool) (res cache.Result[*page.Page], ok bool) {
	if res, ok = x.Find(nil); ok && fresh && res.Stale {
		if newer, found := x.Find(FreshOnly); found {
			return newer, true
		}
	}
	return res, ok
}

// Old returns the page of this process that answers the request, although it may be kept only to replace a failure,
// or for its validator. It returns nil if there is none.
func (x *Reading) Old() *page.Page {
	for {
		res, err := x.Core.Pages.Fetch(x.Ctx, x.At(), look, hereKept...)
		p := res.Value
		switch {
		case err != nil || !p.Sound() || !p.IsLeft():
			return nil
		case p.Selects(x.Header, x.Core.Hashed):
			return p
		case !x.Turn(p):
			return nil
		}
	}
}

// look is a load that shows what it would replace, and leaves it.
func look(ctx context.Context, _ string) (*page.Page, error) {
	f := cache.Filling(ctx)
	f.NoStore()
	old, ok := cache.Previous[*page.Page](ctx)
	switch {
	case f.Auditing():
		return nil, nil
	case !ok || old == nil:
		return page.Refusing(reason.Head), nil
	}
	f.DependOnPrevious()
	return old.Left(), nil
}

// Headed takes the answer of a HEAD that was sent at a time although the page p is stored. If it is of another
// representation, the page is over (RFC 9111 §4.3.5). An answer that is not for everybody, or is no success, does not
// say so. One that agrees updates nothing: handlers answer HEAD carelessly.
func (x *Reading) Headed(p *page.Page, status int, h http.Header, sent time.Time) {
	k := x.Core
	h = rules.Canonical(h)
	life := k.Rules.Lifetime(status, h, sent, k.Now())
	mine := life.NoStore || rules.Forbidden(h) != reason.None || k.Rules.Shared && (life.Private || rules.Has(x.Header, "Authorization"))
	if status == http.StatusOK && !mine && !p.Heads(h) {
		k.over(context.WithoutCancel(x.Ctx), x.At(), sent)
	}
}

// part is what our client has in the read of the entry, which others may share.
type part struct {
	leave context.CancelFunc
	left  atomic.Pointer[chan struct{}] // It is nil until somebody waits for the end of the part.
}

// hasLeft is the channel of a part that has ended.
var hasLeft = make(chan struct{})

func init() { close(hasLeft) }

// end ends the part and returns when it has ended. Another goroutine calls it.
func (p *part) end() {
	p.leave()
	left := make(chan struct{})
	if !p.left.CompareAndSwap(nil, &left) {
		left = *p.left.Load()
	}
	<-left
}

// ended says that the part has ended.
func (p *part) ended() {
	p.leave()
	if left := p.left.Swap(&hasLeft); left != nil {
		close(*left)
	}
}

// Fetch reads the entry through the cache, once. If an invalidation overtakes a load whose response our
// client has, it does not wait for the load that is made for the others.
func (x *Exchange) Fetch(ctx context.Context, opts ...cache.Option) (cache.Result[*page.Page], error) {
	ctx, x.part.leave = context.WithCancel(ctx)
	defer x.part.ended()
	return x.Core.Pages.Fetch(ctx, x.At(), x.Load, opts...)
}

// deeds is what the loads of one request did. They may run on after their client has left.
type deeds struct {
	Led     atomic.Bool               // a load of ours ran
	behind  atomic.Bool               // it was a refresh: our client has the old page
	had     atomic.Bool               // there was a page to replace
	Kept    atomic.Bool               // the load left the stored page as it is
	Newer   bool                      // the stored page did not meet the client's requirements
	Status  atomic.Int32              // what the origin answered, if the client gets something else; 0: unknown
	Why     atomic.Uint32             // the reason why the response is not stored
	cookies atomic.Pointer[[]string]  // of the 304 that confirmed the page: for our client only
	Own     atomic.Pointer[page.Page] // a response for our client only

	// result is the result of the latest load, or nil while it runs. A client that waits for it
	// longer than LoadTimeout reads from waits.
	result atomic.Pointer[loaded]
	first  loaded // the result of the first load; without an allocation, as one load is usual
	once   atomic.Bool
	waits  atomic.Pointer[chan struct{}]
}

// loaded is the result of a load.
type loaded struct {
	page *page.Page
	err  error
}

// begun says that a load begins, perhaps a refresh. It reports whether it is not the first.
func (d *deeds) begun(behind bool) (again bool) {
	d.result.Store(nil)
	d.behind.Store(behind)
	return d.Led.Swap(true)
}

// ended says how a load has ended.
func (d *deeds) ended(p *page.Page, err error) {
	l := &d.first
	if d.once.Swap(true) {
		l = new(loaded)
	}
	l.page, l.err = p, err
	d.result.Store(l)
	d.wake()
}

// wake ends the wait of our client.
func (d *deeds) wake() {
	if w := d.waits.Swap(nil); w != nil {
		close(*w)
	}
}

// end returns a channel that is closed when the load has ended. It is for one client.
func (d *deeds) end() <-chan struct{} {
	w := make(chan struct{})
	d.waits.Store(&w)
	if d.result.Load() != nil {
		d.wake()
	}
	return w
}

// outcome returns the result of the load as that of a read.
func (d *deeds) outcome() (cache.Result[*page.Page], error) {
	l := d.result.Load()
	if l == nil { // another load has begun
		return cache.Result[*page.Page]{}, cache.ErrLoadTimeout
	}
	return cache.Result[*page.Page]{Value: l.page, Source: cache.Load}, l.err
}

// Missed returns the Cache-Status data of a request that no stored page answered.
func (x *Exchange) Missed(why reason.Reason) page.Miss {
	return page.Miss{Stale: x.had.Load(), Vary: x.Variant != nil, Asked: x.Newer, Detail: why}
}

// Asked counts a request for which the source ran. It reports whether the source ran for our client.
func (x *Exchange) Asked(format string) (led bool) {
	n := x.Core.Stats.Of(format)
	if led = x.Led.Load(); led {
		n.Misses.Add(1)
	} else {
		n.Coalesced.Add(1)
	}
	return led
}

// Account counts a request that a page answers. It returns the line of Cache-Status, and the Age of a
// stored page.
func (x *Exchange) Account(res cache.Result[*page.Page], now int64) (line, old string) {
	k, p := x.Core, res.Value
	age := k.Age(p, now)
	switch {
	case res.Stale && res.Source != cache.Load && x.Led.Load() && !x.behind.Load() && !x.Kept.Load(): // in place of a failure, or of a slow response
		k.Stats.Of(p.Format).Stale.Add(1)
		m := x.Missed(reason.None)
		m.Stale, m.Instead, m.Status = true, true, int(x.Status.Load())
		return k.Lines.Miss(m), strconv.FormatInt(age, 10)
	case res.Source != cache.Load, x.Kept.Load(): // a page that was made of an expired part is stale from the start
		return x.Hit(p, res.Stale, res.FreshFor, now)
	}
	if !k.Until && age > 0 {
		old = strconv.FormatInt(age, 10)
	}
	m := x.Missed(reason.None)
	if m.Collapsed = !x.Asked(p.Format); m.Collapsed {
		return k.Lines.Miss(m), old
	}
	m.Status, m.Detail = int(x.Status.Load()), reason.Reason(x.Why.Load())
	m.Stored = m.Detail == reason.None && x.Own.Load() != p && !res.Stale
	return k.Lines.Miss(m), old
}

// Hit counts a request that a stored page answers, which the cache calls fresh for a time. It returns the line of
// Cache-Status, and the Age.
func (x *Reading) Hit(p *page.Page, stale bool, freshFor time.Duration, now int64) (line, old string) {
	k := x.Core
	n := k.Stats.Of(p.Format)
	if stale {
		n.Stale.Add(1)
	} else {
		n.Hits.Add(1)
	}
	age := k.Age(p, now)
	ttl := p.Fresh/1000 - age
	if k.Until {
		if ttl = int64(freshFor / time.Second); stale || freshFor == policy.Forever {
			ttl = page.NoTTL
		}
	}
	s := k.Lines.Served(p, stale, age, ttl)
	return s.Line, s.Age
}

// Age returns the age of a page at a time in Unix milliseconds, in whole seconds.
func (k *Core) Age(p *page.Page, now int64) int64 {
	age := max(now-p.Made, 0) / 1000
	if k.Until {
		if s := p.Get("Age"); s != "" { // the response went through another cache
			if own, err := strconv.ParseUint(s, 10, 31); err == nil {
				age += int64(own)
			}
		}
	}
	return age
}

// Life returns how long a page may be used. With Pages that is until it is invalidated.
func (k *Core) Life(p *page.Page, now int64) rules.Life {
	if k.Until {
		return rules.Life{Made: now - k.Age(p, now)*1000, Fresh: math.MaxInt32 * 1000}
	}
	return p.Life
}

// Fits reports whether the spelled id, with more bytes that need no escape, is short enough for a key.
func (k *Core) Fits(id string, more int) bool {
	room := key.MaxLen - len(k.Space.Tenant) - len(k.Space.Namespace) - 2 - more // two colons
	return 3*len(id) <= room || len(id) <= room && len(key.Text(id)) <= room
}

// AddCookies gives our client the cookies of the 304 that confirmed its page. They are not stored.
func (x *Exchange) AddCookies(h http.Header, from cache.Source) {
	if c := x.cookies.Load(); c != nil && x.Led.Load() && from == cache.Load {
		h["Set-Cookie"] = append(slices.Clip(h["Set-Cookie"]), *c...)
	}
}
