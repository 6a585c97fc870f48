package httpcache

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/invalidate"
)

// past lets the handler answer a request that bypasses the cache. The answer gets the line of
// Cache-Status, if it is not empty. A successful write invalidates what it has changed before the
// client gets the answer.
func (c *Cache) past(next http.Handler, w http.ResponseWriter, r *http.Request, line string) {
	writes := !rules.Safe(r.Method) && !c.cfg.IgnoreWrites && !c.cfg.Off
	if !writes && line == "" {
		next.ServeHTTP(w, r)
		return
	}
	f := &finalWriter{ResponseWriter: w, line: line}
	if writes {
		// Read r now: the handler may change it.
		wr := write{ctx: context.WithoutCancel(r.Context()), host: r.Host, path: r.URL.Path, line: r.RequestURI}
		f.before = func(status int, h http.Header) {
			if status >= 200 && status < 400 {
				c.wrote(wr, h)
			}
		}
	}
	next.ServeHTTP(f, r)
	f.final(http.StatusOK)
}

// write is a request that may change something.
type write struct {
	ctx  context.Context // does not end with the client
	host string
	path string // not escaped, as the handler sees it
	line string // the target of the request line

	scheme string // of a client's request; another one is another origin. "" in front of a handler, where the answer may not know it
}

// wrote invalidates what a write has changed (RFC 9111 §4.4): all entries of the path of the
// request on its host, and of the paths of the same host that the answer names. The client gets its answer
// even if the invalidation fails: the Tiers keep trying.
func (k *core) wrote(w write, h http.Header) {
	var scopes []invalidate.Scope
	for _, path := range w.paths(h) {
		scopes = append(scopes, invalidate.Tag(k.space.Tenant, k.siteTag(w.host, path)))
	}
	if len(scopes) == 0 {
		return
	}
	err := k.tiers.Invalidate(w.ctx, scopes...)
	if err == nil {
		return
	}
	k.stats.pendingWrites.Add(1)
	k.warn(w.ctx, "the invalidation of a write was not sent in time", err)
}

// paths returns the paths that the write has changed, unescaped and unique.
func (w write) paths(h http.Header) []string {
	if !strings.HasPrefix(w.path, "/") {
		return nil // CONNECT
	}
	paths := []string{w.path}
	add := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	base, prefix := w.base()
	for name, lines := range h {
		switch http.CanonicalHeaderKey(name) {
		case "Location", "Content-Location":
		default:
			continue
		}
		for _, line := range lines {
			ref, err := url.Parse(line)
			if err != nil || ref.Opaque != "" || w.scheme != "" && ref.Scheme != "" && ref.Scheme != w.scheme || ref.Host != "" && !sameHost(ref.Host, w.host) {
				continue
			}
			path := cmp.Or(base.ResolveReference(ref).Path, "/")
			add(path)
			if inner, ok := strings.CutPrefix(path, prefix); ok && strings.HasPrefix(inner, "/") {
				add(inner)
			}
		}
	}
	return paths
}

// base returns the base URL of references in the answer, and the prefix that an outer handler has
// cut off the path.
func (w write) base() (base *url.URL, prefix string) {
	if u, err := url.ParseRequestURI(w.line); err == nil && strings.HasPrefix(u.Path, "/") {
		prefix, ok := strings.CutSuffix(u.Path, w.path)
		if !ok {
			prefix = ""
		}
		return u, prefix
	}
	return &url.URL{Path: w.path}, ""
}

// sameHost reports whether two hosts are equal, without regard to case and default ports.
func sameHost(a, b string) bool {
	return strings.EqualFold(address.WithoutPort(a), address.WithoutPort(b))
}
