package exchange

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Weigh decides what to do with a response. Old is the old page, if it answers the request; confirms
// reports whether a 304 confirms it.
//
// With Pages a status that HTTP defines as an answer to one client, such as 302 or 401, is refused unless the
// response says otherwise (RFC 9110 §15.1). Such an answer may depend on data that a handler for everybody
// has not seen. Otherwise the response was made from one client's whole request, so other clients get it
// only if it is stored.
func (x *Exchange) Weigh(m *message, old *page.Page, confirms bool) record.Verdict {
	if m.Status == http.StatusNotModified && confirms {
		return record.Verdict{Fate: record.Renew}
	}
	k := x.Core
	v := record.Verdict{Fate: record.Store, Life: k.Rules.Lifetime(m.Status, m.Header, m.sent, m.Received)}
	v.Names, v.Why = x.forbids(m.Status, m.Header, &v.Life)
	now := k.Now().UnixMilli()
	switch {
	case k.Until && m.Status >= http.StatusInternalServerError:
		v.Fate, v.Why, v.Mine = record.Fail, reason.Status, v.Why != reason.Status
	case rules.StandsIn(m.Status) && old != nil && !x.Newer && now < old.InsteadUntil() && (x.Wants.MaxStale < 0 || x.Wants.Accepts(old.Life, now)):
		v.Fate, v.Why, v.Mine = record.Fail, reason.Status, true // even if its header allows more
	case k.Until && v.Why == reason.Status && (rules.HeuristicallyCacheable(m.Status) || v.Life.Reusable()):
		v.Fate, v.Why = record.Share, reason.PlainStatus
	case v.Why != reason.None:
		v.Fate = record.Refuse
	}
	return v
}

// Decide is Weigh for a response that came now and replaces no page.
func (x *Exchange) Decide(status int, h http.Header) record.Verdict {
	now := x.Core.Now()
	return x.Weigh(&message{status, h, now, now}, nil, false)
}

// forbids returns the reason why a response must not be stored (RFC 9111 §3), or none and the request
// headers that select it. A 206 is checked first, because it cannot end the stored page. Other
// statuses are checked last: with Pages, clients that wait may share a response that only its status keeps
// from being stored.
func (x *Exchange) forbids(status int, h http.Header, life *rules.Lifetime) (names []string, why reason.Reason) {
	k := x.Core
	switch why = rules.Forbidden(h); {
	case why != reason.None:
		return nil, why
	case status == http.StatusPartialContent:
		return nil, reason.Partial
	case life.NoStore:
		return nil, reason.NoStore
	case k.Rules.Shared && life.Private:
		return nil, reason.Private
	case k.Until && life.Asks: // pages are not revalidated
		return nil, reason.NoCache
	case life.Bad:
		return nil, reason.BadCacheControl
	case k.Rules.Shared && len(x.Source.Sees("Authorization")) > 0 && !life.Authorized:
		return nil, reason.Credentials
	}
	names, ok := rules.Learned(h, !k.Until && rules.Has(h, "Content-Encoding"), x.Source.Keyed)
	switch {
	case !ok, !x.Variant.Covers(names), k.Until && len(names) > 0:
		return nil, reason.Vary
	case status < 200, status == http.StatusNotModified, k.Statuses != nil && !slices.Contains(k.Statuses, status):
		return nil, reason.Status
	case k.Until, life.Usable(status, h):
		return names, reason.None
	case life.Asks:
		return nil, reason.NoCache
	}
	return nil, reason.Silence
}

// keeps tells a load how long its page is kept.
func (x *Exchange) keeps(f *cache.Fill, n *Run) {
	k := x.Core
	if !k.Until {
		keep := k.Keep
		if !k.Hashed && !n.Page.Validated() && (len(n.Page.Vary) == 0 || x.Variant != nil) {
			keep = 0 // it cannot be revalidated, leads to no variant, and no client of a handler may accept it
		}
		k.Lives(f, n.Page, keep)
	} else if d, _ := rules.ParseCacheControl(n.Rec.Sent["Cache-Control"]); d.Has("must-revalidate") || d.Has("proxy-revalidate") {
		f.SetLifetime(cache.Lifetime{Stale: new(time.Duration), StaleIfError: new(time.Duration)})
	}
}

// leave ends a load that leaves a page as it is. A page that is kept only for its validator, or to lead to its
// variants, is kept for longer. Another one is not stored again: an Expire may have shortened the time for
// which it is served, and the page does not know it. So requests that share the load do not get it, either. A
// refresh fails, because after one that succeeds the next would wait for LoadTimeout.
func (x *Exchange) leave(ctx context.Context, p *page.Page) (*page.Page, error) {
	x.Kept.Store(true)
	now, f := x.Core.Now().UnixMilli(), cache.Filling(ctx)
	switch {
	case now >= p.Made+p.Fresh && now >= p.InsteadUntil():
		x.Core.Lives(f, p, x.Core.Keep)
		return p, cache.ErrNotModified
	case !x.Wants.OnlyIfCached && x.behind.Load():
		return nil, &refusal{reason.Load, p.Left()}
	}
	f.NoStore()
	f.DependOnPrevious()
	return p.Left(), nil
}
