package cachez

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/twofold-go/twofold/invalidate"
)

// coverPages finds the responses that a target by url, under or path covers.
func (h *handler) coverPages(r *http.Request, t *target) error {
	if h.Pages == nil {
		return t.faultf("this program has no cache of responses: send key, tag, prefix or all")
	}
	u, err := t.url()
	if err != nil {
		return err
	}
	scheme, host := u.Scheme, strings.ToLower(u.Host)
	if host == "" {
		if scheme, host = "http", strings.ToLower(r.Host); r.TLS != nil {
			scheme = "https"
		}
	}
	switch {
	case t.By == "url":
		whole := *u
		whole.Scheme, whole.Host = scheme, host
		if t.client, err = h.Pages.Request(r.Context(), whole.String(), nil); err != nil {
			return err
		}
	case u.RawQuery != "" || u.ForceQuery:
		return t.faultf("it has a query: leave it out, the field covers every query")
	case t.By == "path" && u.Host != "":
		return t.faultf("it has a host: leave it out, the field covers every host")
	case t.By == "path":
		t.path = u.Path
	case u.Host != "":
		t.scopes = []invalidate.Scope{h.Pages.Prefix(scheme+"://"+host, u.Path)}
	default:
		t.scopes = []invalidate.Scope{h.Pages.Prefix("http://"+host, u.Path), h.Pages.Prefix("https://"+host, u.Path)}
	}
	return nil
}

// url reads a path with or without a query, or a whole URL.
func (t *target) url() (*url.URL, error) {
	u, err := url.Parse(t.Value)
	if err != nil || u.Opaque != "" || u.User != nil || u.Fragment != "" || !strings.HasPrefix(u.Path, "/") ||
		(u.Scheme == "") != (u.Host == "") || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		return nil, t.faultf("send a path that begins with /, or a URL of http or https with a path")
	}
	return u, nil
}
