package exchange

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/invalidate"
)

// Write is a request that may change something.
type Write struct {
	Ctx  context.Context // does not end with the client
	Host string
	Path string // not escaped, as the handler sees it
	Line string // the target of the request line

	Scheme string // of a client's request; another one is another origin. "" in front of a handler, where the answer may not know it
}

// Wrote invalidates what a write has changed (RFC 9111 §4.4): all entries of the path of the
// request on its host, and of the paths of the same host that the answer names. The client gets its answer
// even if the invalidation fails: the Tiers keep trying.
func (k *Core) Wrote(w Write, h http.Header) {
	var scopes []invalidate.Scope
	for _, path := range w.paths(h) {
		scopes = append(scopes, invalidate.Tag(k.Space.Tenant, k.TagsOf(w.Host, path)[0]))
	}
	if len(scopes) == 0 {
		return
	}
	err := k.Tiers.Invalidate(w.Ctx, scopes...)
	if err == nil {
		return
	}
	k.Stats.PendingWrites.Add(1)
	k.Warn(w.Ctx, "the invalidation of a write was not sent in time", err)
}

// maxReferences is how many lines of Location count, and of Content-Location. A proper answer has one of each.
const maxReferences = 4

// paths returns the paths that the write has changed, unescaped and unique.
func (w Write) paths(h http.Header) []string {
	if !strings.HasPrefix(w.Path, "/") {
		return nil // CONNECT
	}
	paths := []string{w.Path}
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
		for _, line := range lines[:min(len(lines), maxReferences)] {
			ref, err := url.Parse(line)
			if err != nil || ref.Opaque != "" || w.Scheme != "" && ref.Scheme != "" && ref.Scheme != w.Scheme || ref.Host != "" && !sameHost(ref.Host, w.Host) {
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
func (w Write) base() (base *url.URL, prefix string) {
	if u, err := url.ParseRequestURI(w.Line); err == nil && strings.HasPrefix(u.Path, "/") {
		prefix, ok := strings.CutSuffix(u.Path, w.Path)
		if !ok {
			prefix = ""
		}
		return u, prefix
	}
	return &url.URL{Path: w.Path}, ""
}

// sameHost reports whether two hosts are equal, without regard to case and default ports.
func sameHost(a, b string) bool {
	return strings.EqualFold(address.WithoutPort(a), address.WithoutPort(b))
}

// TagsOf returns the tag of all entries of a path of one host, by http and https, and that of the path on
// every host.
func (k *Core) TagsOf(host, path string) [2]string {
	host = strings.ToLower(address.WithoutPort(host))
	site := host + " " + k.pathTag(path) // no host has a space
	return [...]string{tagOf(site), tagOf(site[len(host)+1:])}
}

// PathTag returns the tag of all entries of a path, of every host.
func (k *Core) PathTag(path string) string { return tagOf(k.pathTag(path)) }

func (k *Core) pathTag(path string) string { return k.Space.Namespace + " path " + cleaned(path) }

// cleaned returns a path without dot segments and empty ones: a program that reads the path may drop them,
// so a write to one spelling ends the entries of all.
func cleaned(p string) string {
	if !strings.HasPrefix(p, "/") {
		return p
	}
	short := path.Clean(p)
	if last := p[strings.LastIndexByte(p, '/'):]; short != "/" && (last == "/" || last == "/." || last == "/..") {
		short += "/"
	}
	return short
}

// tagOf returns tag, or its hash if it is too long or not UTF-8.
func tagOf(tag string) string {
	if len(tag) <= invalidate.MaxTagLen && utf8.ValidString(tag) {
		return tag
	}
	sum := sha256.Sum256([]byte(tag))
	return "httpcache path sha256 " + hex.EncodeToString(sum[:])
}
