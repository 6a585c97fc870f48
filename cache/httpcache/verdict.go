package httpcache

import (
	"net/http"
	"slices"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// judge decides by status and header what to do with a response to t. The names in h are
// canonical.
//
// A response that is marked as private in any way is refused, unless it is a failure. A status
// that HTTP defines as an answer to one client, such as 302 or 401, is refused unless the
// response says otherwise (RFC 9110 §15.1). Such an answer may depend on data that a handler for
// everybody has not seen.
func (c *Cache) judge(t *address.Target, status int, h http.Header) record.Verdict {
	why := rules.Marked(h)
	undeclared, ok := rules.Learned(h, false, func(name string) bool { return c.declares(t, name) })
	if why == reason.None && (!ok || len(undeclared) > 0) {
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

func (c *Cache) declares(t *address.Target, header string) bool {
	if len(c.cfg.Encodings) > 0 && header == "Accept-Encoding" {
		return true // no handler sees it
	}
	return slices.ContainsFunc(c.cfg.Vary, func(r VaryRule) bool { return r.Header == header && (r.On == nil || r.On(t.Path)) })
}
