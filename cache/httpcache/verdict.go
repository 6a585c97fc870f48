package httpcache

import (
	"net/http"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// weigh decides what to do with a response that says how long it lives. It was made from one client's
// whole request, so other clients get it only if it is stored. Old is the old page, if it answers the
// request; confirms reports whether a 304 confirms it.
func (x *exchange) weigh(m *message, old *page.Page, confirms bool) record.Verdict {
	if m.status == http.StatusNotModified && confirms {
		return record.Verdict{Fate: record.Renew}
	}
	v := record.Verdict{Fate: record.Store, Life: x.k.rules.Lifetime(m.status, m.h, m.sent, m.received)}
	v.Names, v.Why = x.forbids(m, m.status, m.h, &v.Life)
	switch {
	case rules.StandsIn(m.status) && old != nil && !x.newer.Load() && x.k.now().UnixMilli() < old.InsteadUntil():
		v.Fate, v.Why, v.Mine = record.Fail, reason.Status, true // whatever it says
	case v.Why != reason.None:
		v.Fate = record.Refuse
	}
	return v
}

// forbids returns the reason why a response must not be stored, or none and the request headers that
// select it.
func (x *exchange) forbids(m *message, status int, h http.Header, life *rules.Lifetime) (names []string, why reason.Reason) {
	if why := rules.Forbidden(h); why != reason.None {
		return nil, why
	}
	if why := x.source.refuses(status); why != reason.None {
		return nil, why
	}
	return x.k.withholds(x.v, status, h, m.asked, life, x.source)
}

// judge decides by status and header what to do with a response to t. The names in h are
// canonical.
//
// A response that is marked as private in any way is refused, unless it is a failure. A status
// that HTTP defines as an answer to one client, such as 302 or 401, is refused unless the
// response says otherwise (RFC 9110 §15.1). Such an answer may depend on data that a handler for
// everybody has not seen.
func (c *Cache) judge(t *address.Target, status int, h http.Header) record.Verdict {
	why := rules.Marked(h)
	if why == reason.None && !c.varies(t, h["Vary"]) {
		why = reason.Vary
	}
	switch {
	case status >= 500:
		return record.Verdict{Fate: record.Fail, Why: reason.Status, Mine: why != reason.None}
	case why != reason.None:
		return record.Verdict{Why: why}
	case status == http.StatusPartialContent:
		return record.Verdict{Why: reason.Partial}
	case slices.Contains(c.cfg.Statuses, status):
		return record.Verdict{Fate: record.Store}
	case rules.HeuristicallyCacheable(status) || rules.DeclaredFresh(h):
		return record.Verdict{Fate: record.Share, Why: reason.PlainStatus}
	}
	return record.Verdict{Why: reason.Status}
}

// varies reports whether the key holds all headers that a response varies on.
func (c *Cache) varies(t *address.Target, lines []string) bool {
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" && !c.declares(t, name) {
				return false
			}
		}
	}
	return true
}

func (c *Cache) declares(t *address.Target, header string) bool {
	if len(c.cfg.Encodings) > 0 && strings.EqualFold(header, "Accept-Encoding") {
		return true // no handler sees it
	}
	for _, r := range c.cfg.Vary {
		if strings.EqualFold(r.Header, header) {
			return r.On == nil || r.On(t.Path)
		}
	}
	return false
}

// withholds returns the reason why a response that is not crossed must not be stored (RFC 9111 §3), or
// none and the request headers that select it. It answers a request with header asked. The entry is
// that of v.
func (k *core) withholds(v *address.Variant, status int, h, asked http.Header, life *rules.Lifetime, more moreRules) (names []string, why reason.Reason) {
	shared := k.rules.Shared
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
	case shared && rules.Has(asked, "Authorization") && !life.Authorized:
		return nil, reason.Credentials
	}
	encoded := rules.Has(h, "Content-Encoding")
	var keyed func(string) bool
	if encoded || rules.Has(h, "Vary") {
		keyed = more.keyed
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
