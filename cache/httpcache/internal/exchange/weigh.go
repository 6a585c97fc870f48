package exchange

import (
	"cmp"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Weigh decides what to do with a response that says how long it lives. It was made from one client's
// whole request, so other clients get it only if it is stored. Old is the old page, if it answers the
// request; confirms reports whether a 304 confirms it.
func (x *Exchange) Weigh(m *message, old *page.Page, confirms bool) record.Verdict {
	if m.Status == http.StatusNotModified && confirms {
		return record.Verdict{Fate: record.Renew}
	}
	v := record.Verdict{Fate: record.Store, Life: x.Core.Rules.Lifetime(m.Status, m.Header, m.sent, m.Received)}
	v.Names, v.Why = x.forbids(m.Status, m.Header, &v.Life)
	now := x.Core.Now().UnixMilli()
	switch {
	case rules.StandsIn(m.Status) && old != nil && !x.Newer.Load() && now < old.InsteadUntil() && (x.Wants.MaxStale < 0 || x.Wants.Accepts(old.Life, now)):
		v.Fate, v.Why, v.Mine = record.Fail, reason.Status, true // whatever it says
	case v.Why != reason.None:
		v.Fate = record.Refuse
	}
	return v
}

// forbids returns the reason why a response must not be stored (RFC 9111 §3), or none and the request
// headers that select it.
func (x *Exchange) forbids(status int, h http.Header, life *rules.Lifetime) (names []string, why reason.Reason) {
	if why := cmp.Or(rules.Forbidden(h), x.Source.Refuses(status)); why != reason.None {
		return nil, why
	}
	shared := x.Core.Rules.Shared
	switch {
	case status < 200, status == http.StatusNotModified:
		return nil, reason.Status
	case status == http.StatusPartialContent:
		return nil, reason.Partial
	case life.NoStore:
		return nil, reason.NoStore
	case shared && life.Private:
		return nil, reason.Private
	case life.Bad:
		return nil, reason.BadCacheControl
	case shared && len(x.Source.Sees("Authorization")) > 0 && !life.Authorized:
		return nil, reason.Credentials
	}
	names, ok := rules.Learned(h, rules.Has(h, "Content-Encoding"), x.Source.Keyed)
	switch {
	case !ok, !x.Variant.Covers(names):
		return nil, reason.Vary
	case life.Usable(status, h):
		return names, reason.None
	case life.Asks:
		return nil, reason.NoCache
	}
	return nil, reason.Silence
}
