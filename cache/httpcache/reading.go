package httpcache

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/key"
)

// reading is the way of one request to a stored page.
type reading struct {
	k   *core
	ctx context.Context  // of look-ups and loads
	id  string           // the entry of the URL
	v   *address.Variant // nil: the entry of the URL
	h   http.Header      // of the request, with canonical names
	saw rules.Seen       // what is in h
	w   rules.Request    // what the client requires
}

// at returns the key of the wanted entry.
func (x *reading) at() string {
	if x.v != nil {
		return x.v.ID
	}
	return x.id
}

// turn points x from the entry of the URL, whose page p is for other requests, to the variant of its
// own request. It reports false if there can be none.
func (x *reading) turn(p *page.Page) bool {
	names := p.Names()
	if x.v != nil || slices.ContainsFunc(names, func(name string) bool { // it identifies a client
		return rules.Has(x.h, name) && slices.Contains(x.k.personal, name)
	}) {
		return false
	}
	v := address.VariantOf(x.id, names, x.h)
	if !x.k.fits(v.ID, 0) {
		return false
	}
	x.v = v
	return true
}

// find looks for the page that answers the request, without a load. If the entry of the URL is for
// other requests, it looks for the variant. It reports false if there is none.
func (x *reading) find(opts []cache.Option) (res cache.Result[*page.Page], ok bool) {
	for {
		res, err := x.k.pages.Fetch(x.ctx, x.at(), nil, opts...)
		p := res.Value
		if err != nil || !p.Sound() || p.Refusal() != reason.None {
			return res, false
		}
		if p.Selects(x.h, x.k.hashed) {
			return res, true
		}
		if !x.turn(p) {
			return res, false
		}
	}
}

// deeds is what the loads of one request did. They may run on after their client has left.
type deeds struct {
	led     atomic.Bool               // a load of ours ran
	had     atomic.Bool               // there was a page to replace
	kept    atomic.Bool               // the load left the stored page as it is
	newer   atomic.Bool               // the stored page did not meet the client's requirements
	failed  atomic.Bool               // the origin failed
	status  atomic.Int32              // what the origin answered, if the client gets something else; 0: unknown
	why     atomic.Uint32             // the reason why the response is not stored
	cookies atomic.Pointer[[]string]  // of the 304 that confirmed the page: for our client only
	own     atomic.Pointer[page.Page] // a response for our client only

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

// begun says that a load begins. It reports whether it is not the first.
func (d *deeds) begun() (again bool) {
	d.result.Store(nil)
	return d.led.Swap(true)
}

// ended says how a load has ended.
func (d *deeds) ended(p *page.Page, err error) {
	l := &d.first
	if d.once.Swap(true) {
		l = new(loaded)
	}
	l.page, l.err = p, err
	d.result.Store(l)
	if w := d.waits.Load(); w != nil {
		wake(*w)
	}
}

// end returns a channel that gets a value when the load has ended. It is for one client.
func (d *deeds) end() <-chan struct{} {
	w := make(chan struct{}, 1)
	d.waits.Store(&w)
	if d.result.Load() != nil {
		wake(w)
	}
	return w
}

func wake(w chan<- struct{}) {
	select {
	case w <- struct{}{}:
	default:
	}
}

// outcome returns the result of the load as that of a read.
func (d *deeds) outcome() (cache.Result[*page.Page], error) {
	l := d.result.Load()
	if l == nil { // another load has begun
		return cache.Result[*page.Page]{}, cache.ErrLoadTimeout
	}
	return cache.Result[*page.Page]{Value: l.page, Source: cache.Load}, l.err
}

// missed returns the Cache-Status data of a request that no stored page answered.
func (x *exchange) missed(why reason.Reason) page.Miss {
	return page.Miss{Stale: x.had.Load(), Vary: x.v != nil, Asked: x.newer.Load(), Detail: why}
}

// account counts a request that a page answers. It returns the line of Cache-Status, and the Age of a
// stored page.
func (x *exchange) account(res cache.Result[*page.Page], now int64) (line, old string) {
	k, p := x.k, res.Value
	n := k.stats.of(p.Format)
	age := k.age(p, now)
	led := x.led.Load()
	switch {
	case res.Stale && led && x.failed.Load():
		n.stale.Add(1)
		m := x.missed(reason.None)
		m.Stale, m.Instead, m.Status = true, true, int(x.status.Load())
		return k.lines.Miss(m), strconv.FormatInt(age, 10)
	case res.Stale, res.Source != cache.Load, x.kept.Load():
		return x.hit(p, res.Stale, now)
	}
	if !k.until && age > 0 {
		old = strconv.FormatInt(age, 10)
	}
	m := x.missed(reason.None)
	if !led {
		n.coalesced.Add(1)
		m.Collapsed = true
		return k.lines.Miss(m), old
	}
	n.misses.Add(1)
	m.Status, m.Detail = int(x.status.Load()), reason.Reason(x.why.Load())
	m.Stored = m.Detail == reason.None && x.own.Load() != p
	return k.lines.Miss(m), old
}

// hit counts a request that a stored page answers. It returns the line of Cache-Status, and the Age.
func (x *reading) hit(p *page.Page, stale bool, now int64) (line, old string) {
	n := x.k.stats.of(p.Format)
	if stale {
		n.stale.Add(1)
	} else {
		n.hits.Add(1)
	}
	s := x.k.lines.Served(p, x.k.until, stale, x.k.age(p, now))
	return s.Line, s.Age
}

// age returns the age of a page at a time in Unix milliseconds, in whole seconds.
func (k *core) age(p *page.Page, now int64) int64 {
	age := max(now-p.Made, 0) / 1000
	if k.until {
		if s := p.Get("Age"); s != "" { // the response went through another cache
			if own, err := strconv.ParseUint(s, 10, 31); err == nil {
				age += int64(own)
			}
		}
	}
	return age
}

// life returns how long a page may be used. With Pages that is until it is invalidated.
func (k *core) life(p *page.Page, now int64) rules.Life {
	if k.until {
		return rules.Life{Made: now - k.age(p, now)*1000, Fresh: math.MaxInt32 * 1000}
	}
	return rules.Life{Made: p.Made, Fresh: p.Fresh, Asks: p.Asks, Strict: p.Strict, Immutable: p.Immutable}
}

// fits reports whether the spelled id, with more bytes that need no escape, is short enough for a key.
func (k *core) fits(id string, more int) bool {
	room := key.MaxLen - len(k.space.Tenant) - len(k.space.Namespace) - 2 - more // two colons
	return 3*len(id) <= room || len(id) <= room && len(key.Text(id)) <= room
}

// addCookies gives our client the cookies of the 304 that confirmed its page. They are not stored.
func (x *exchange) addCookies(h http.Header, from cache.Source) {
	if c := x.cookies.Load(); c != nil && x.led.Load() && from == cache.Load {
		h["Set-Cookie"] = append(slices.Clip(h["Set-Cookie"]), *c...)
	}
}
