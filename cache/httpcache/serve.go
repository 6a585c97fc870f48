package httpcache

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// ServeHTTP answers from the cache, or calls the handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, next := h.c, h.next
	t, why := c.target(r)
	if t.Saw.Any(rules.SawOddName) {
		plain := r.WithContext(r.Context())
		plain.Header = rules.Canonical(r.Header) // a credential in any spelling is a credential
		if t, why = c.target(plain); why == reason.None {
			r = plain
		}
	}
	if why == reason.None && h.forOne() {
		why = reason.Router
		c.k.Advise("a handler was put behind the cache for one request only, which bypasses the cache; " + exchange.Around)
	}
	reached, err := c.reaches(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case why != reason.None && why != reason.Program && t.Wants.OnlyIfCached && !c.cfg.Off:
		c.notHere(w) // unless Bypass names the request: the cache then leaves it alone
	case why != reason.None:
		c.k.Stats.Bypass(why)
		line := ""
		if !c.cfg.Off {
			line = c.k.Lines.Passed(why)
		}
		c.past(next, w, r, line, nil)
	case c.cfg.Off:
		c.k.Stats.Bypass(reason.Off)
		c.handling(next, w, r, t).alone(w, r, "")
	case !reached && t.Wants.OnlyIfCached:
		c.notHere(w)
	case !reached:
		c.handling(next, w, r, t).forItself(w, r, reason.Ticket)
	case t.Wants.NoStore, t.Wants.OnlyIfCached, r.Method == http.MethodHead && !c.cfg.pages(), !c.cfg.pages() && t.Saw.Any(rules.SawRange|rules.SawIfMatch):
		c.partly(next, w, r, t)
	default:
		now := c.k.Now().UnixMilli()
		x := c.reading(r, &t)
		res, ok := x.Find(exchange.HereOnly)
		if ok && !res.Stale && !c.loadsAtHits(now/1000) {
			c.served(w, r, &x, res, &t, now)
			return
		}
		c.through(next, w, r, t, x.Variant, ok)
	}
}

// TicketHeader is the request header with a ticket; see [Config.Tickets] and Ticket of cache.Tiers.
const TicketHeader = "Twofold-Ticket"

// ticketPatience is how long a request waits for the log to say what its ticket stands for.
const ticketPatience = 150 * time.Millisecond

// reaches reports whether this process knows what the request's tickets stand for, so that its pages and its other
// caches are at least as new. An error says that a header is no ticket.
func (c *Cache) reaches(r *http.Request) (ok bool, err error) {
	if !c.cfg.Tickets || len(r.Header[TicketHeader]) == 0 {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), ticketPatience)
	defer cancel()
	ok = true
	for _, ticket := range r.Header[TicketHeader] {
		err := c.cfg.Tiers.ReadyFor(ctx, ticket)
		if errors.Is(err, cache.ErrOption) {
			return false, errNoTicket
		}
		ok = ok && err == nil
	}
	return ok, nil
}

var errNoTicket = errors.New("the header " + TicketHeader + " has no ticket")

// partly answers a client whose request must not store a page, or asks for a part of one. A fresh page answers it. So
// does a stale one that a GET would get.
func (c *Cache) partly(next http.Handler, w http.ResponseWriter, r *http.Request, t address.Target) {
	x := c.reading(r, &t)
	res, ok := x.Stored(true)
	p, now := res.Value, c.k.Now().UnixMilli()
	if ok && !res.Stale {
		c.served(w, r, &x, res, &t, now)
		return
	}
	y := c.handling(next, w, r, t)
	if !t.Wants.NoStore && !t.Wants.OnlyIfCached { // with no-store any client could end a fresh page by a HEAD
		if !ok {
			p = x.Old()
		}
		if p != nil && p.StandsIn(now) {
			c.through(next, w, r, t, x.Variant, true)
			return
		}
		if y.Variant = x.Variant; r.Method == http.MethodHead {
			y.stored = p
		}
	}
	y.asItIs(w, r)
}

// asItIs answers a client whose request must not store a page or render for everybody, and for which no
// page is stored.
func (x *handling) asItIs(w http.ResponseWriter, r *http.Request) {
	why := reason.Head
	switch {
	case x.Wants.OnlyIfCached:
		x.c.notHere(w)
		return
	case x.Wants.NoStore:
		why = reason.RequestNoStore
	case r.Method == http.MethodGet && x.t.Saw.Any(rules.SawRange):
		why = reason.Range // the body may be too long to store
	case r.Method == http.MethodGet:
		why = reason.Precondition
	}
	x.forItself(w, r, why)
}

// fromStore answers from a stored page, if one does. It refreshes nothing.
func (c *Cache) fromStore(w http.ResponseWriter, r *http.Request, t *address.Target) bool {
	x := c.reading(r, t)
	res, ok := x.Stored(false)
	if ok {
		c.served(w, r, &x, res, t, c.k.Now().UnixMilli())
	}
	return ok
}

func (c *Cache) reading(r *http.Request, t *address.Target) exchange.Reading {
	return exchange.Reading{Core: &c.k, Ctx: r.Context(), ID: t.Key, Header: r.Header, Wants: t.Wants}
}

// served answers by a stored page.
func (c *Cache) served(w http.ResponseWriter, r *http.Request, x *exchange.Reading, res cache.Result[*page.Page], t *address.Target, now int64) {
	line, age := x.Hit(res.Value, res.Stale, res.FreshFor, now)
	p, e := c.known(res.Value, r.Header)
	if e != nil {
		y := c.handling(nil, w, r, *t)
		y.Variant = x.Variant
		p = y.inCoding(res, r)
	}
	c.send(w, r, p, line, age, t.Saw, nil)
}

// notHere answers only-if-cached (RFC 9111 §5.2.1.7).
func (c *Cache) notHere(w http.ResponseWriter) {
	c.k.Stats.Bypass(reason.Condition)
	w.Header().Add("Cache-Status", c.k.Lines.Passed(reason.Condition))
	unavailable(w, http.StatusGatewayTimeout)
}

// through answers through the cache. If the stored page is a variant for other clients, its Vary
// names lead to this client's variant. A look led to v, and may have found a page that is not fresh.
//
// The request of a client that has left waits for the handlers that it has started, as it would without the cache.
// So the server counts them: otherwise a client that leaves at once could make any number of them run.
func (c *Cache) through(next http.Handler, w http.ResponseWriter, r *http.Request, t address.Target, v *address.Variant, found bool) {
	x := c.handling(next, w, r, t)
	x.Variant = v
	if found {
		x.Client.Writer = nil // it has a page, so a load is a refresh
	}
	for x != nil {
		y := x.try(w, r)
		if errors.Is(r.Context().Err(), context.Canceled) { // a deadline is not the client's, who waits for the answer
			x.Returned()
		}
		x = y
	}
}

// try answers from the entry of x, or by a load of it. If the page is for other clients and ours may have a
// variant, try returns the exchange of that. After a load of another client that left the page, it reads once
// more.
func (x *handling) try(w http.ResponseWriter, r *http.Request) (y *handling) {
	c := x.c
	if c.k.Memory.Has(x.At(), c.k.Now) {
		if !c.fromStore(w, r, &x.t) {
			x.forItself(w, r, reason.Memory)
		}
		return nil
	}
	res, err := x.Outlast(x.fetch())
	if x.Client.Leave() {
		x.Asked("other")
		return nil
	}
	res, why, err := x.Result(res, err)
	p := res.Value
	switch {
	case err != nil:
		x.failedWith(w, r, err)
	case why != reason.None:
		x.refusedTo(w, r, why)
	case !p.Selects(x.Header, c.k.Hashed):
		if y = x.turned(w, r, p); y == nil {
			x.forItself(w, r, reason.Vary)
		}
	case !x.Led.Load() && p.IsLeft() && !x.again:
		y = c.handling(x.next, w, r, x.t)
		y.Variant, y.again = x.Variant, true
	case !x.Led.Load() && res.Source == cache.Load && c.spent(p):
		x.refusedTo(w, r, reason.Condition)
	default:
		line, age := x.Account(res, c.k.Now().UnixMilli())
		c.k.LogPanic(x.Fault.Load())
		x.AddCookies(w.Header(), res.Source)
		c.send(w, r, x.inCoding(res, r), line, age, x.t.Saw, x.room[:])
	}
	return y
}

// spent reports whether the page of a load is unusable for all clients except the one that began it.
func (c *Cache) spent(p *page.Page) bool {
	return !c.cfg.pages() && (p.IsLeft() || p.Asks || c.k.Age(p, c.k.Now().UnixMilli())*1000 >= p.Fresh+p.Stale)
}

// fetch reads through the cache. If the read panics, no handler may take over the client.
func (x *handling) fetch() (res cache.Result[*page.Page], err error) {
	defer func() {
		if p := recover(); p != nil {
			x.Client.Leave()
			panic(p)
		}
	}()
	res, err = x.Fetch(x.Ctx)
	x.Found.Store(res.Value)
	return res, err
}

// refusedTo answers a client that waited for a response that is not for everybody.
func (x *handling) refusedTo(w http.ResponseWriter, r *http.Request, why reason.Reason) {
	x.Asked("other")
	x.alone(w, r, x.c.k.Lines.Miss(x.Missed(why)))
}

// failedWith answers a client after a load has failed.
func (x *handling) failedWith(w http.ResponseWriter, r *http.Request, err error) {
	c := x.c
	if f, ok := errors.AsType[*exchange.Failure](err); ok {
		led := x.Asked(f.Page.Format)
		if f.Mine {
			x.alone(w, r, c.k.Lines.Miss(x.Missed(reason.Status)))
			return
		}
		m := x.Missed(reason.Status)
		m.Collapsed = !led
		line := c.k.Lines.Miss(m)
		if _, ok := errors.AsType[*cache.RememberedError](err); ok {
			line = c.k.Lines.Hit
		}
		c.answer(w, r, f.Page, line, "")
		return
	}
	if errors.Is(err, cache.ErrClosed) {
		x.forItself(w, r, reason.Closing)
		return
	}
	if errors.Is(err, cache.ErrLoadTimeout) && r.Context().Err() == nil {
		c.k.Memory.Add(x.At(), c.k.Now())
		x.forItself(w, r, reason.Slow)
		return
	}
	c.k.Stats.Refuse(reason.Failure)
	if r.Context().Err() == nil {
		c.k.Warn(r.Context(), "no response", err)
	}
	status := http.StatusServiceUnavailable
	if x.Strict.Load() {
		status = http.StatusGatewayTimeout // RFC 9111 §5.2.2.2
	}
	unavailable(w, status)
}

// unavailable answers when there is no response: the handler did not answer in time, or too many
// loads run. A client that has left gets it too.
func unavailable(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "1")
	http.Error(w, http.StatusText(status), status)
}
