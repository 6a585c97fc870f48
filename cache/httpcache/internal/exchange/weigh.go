package exchange

import (
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
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
	v.Names, v.Why = x.forbids(m, m.Status, m.Header, &v.Life)
	switch {
	case rules.StandsIn(m.Status) && old != nil && !x.Newer.Load() && x.Core.Now().UnixMilli() < old.InsteadUntil():
		v.Fate, v.Why, v.Mine = record.Fail, reason.Status, true // whatever it says
	case v.Why != reason.None:
		v.Fate = record.Refuse
	}
	return v
}

// forbids returns the reason why a response must not be stored, or none and the request headers that
// select it.
func (x *Exchange) forbids(m *message, status int, h http.Header, life *rules.Lifetime) (names []string, why reason.Reason) {
	if why := rules.Forbidden(h); why != reason.None {
		return nil, why
	}
	if why := x.Source.Refuses(status); why != reason.None {
		return nil, why
	}
	return x.Core.withholds(x.Variant, status, h, life, x.Source)
}

// withholds returns the reason why a response that is not crossed must not be stored (RFC 9111 §3), or
// none and the request headers that select it. The entry is that of v.
func (k *Core) withholds(v *address.Variant, status int, h http.Header, life *rules.Lifetime, more MoreRules) (names []string, why reason.Reason) {
	shared := k.Rules.Shared
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
	case shared && len(more.Sees("Authorization")) > 0 && !life.Authorized:
		return nil, reason.Credentials
	}
	encoded := rules.Has(h, "Content-Encoding")
	var keyed func(string) bool
	if encoded || rules.Has(h, "Vary") {
		keyed = more.Keyed
	}
	names, ok := rules.Learned(h, encoded, keyed)
	switch {
	case !ok, !v.Covers(names):
		return nil, reason.Vary
	case life.Usable(status, h):
		return names, reason.None
	case life.Asks:
		return nil, reason.NoCache
	}
	return nil, reason.Silence
}
