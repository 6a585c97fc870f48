package httpcache

import (
	"context"
	"net/http"
	"net/url"

	"github.com/twofold-go/twofold/invalidate"
)

// written invalidates what a request has changed (RFC 9111 §4.4): its URL, and the URLs of the
// same origin that the response names.
func (t *Transport) written(r *http.Request, resp *http.Response) {
	at := *r.URL
	at.Host = hostOf(r)
	scopes := []invalidate.Scope{t.pages.Tag(t.tag(&at))}
	for _, name := range []string{"Location", "Content-Location"} {
		if ref, err := url.Parse(resp.Header.Get(name)); err == nil && resp.Header.Get(name) != "" {
			if to := at.ResolveReference(ref); to.Scheme == at.Scheme && plainHost(to.Scheme, to.Host) == at.Host {
				to.Host = at.Host
				scopes = append(scopes, t.pages.Tag(t.tag(to)))
			}
		}
	}
	if err := t.cfg.Tiers.Invalidate(context.WithoutCancel(r.Context()), scopes...); err != nil {
		t.stats.refuse(byFailure)
		t.warn(r.Context(), "the invalidation of a write was not sent in time", err)
	}
}
