package httpcache

import (
	"net/http"
	"slices"
	"strings"

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
