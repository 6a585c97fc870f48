package page

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Merge puts the header of a response into that of its writer. If outer handlers have set a
// header too, the response's wins, as without a cache. Vary and Cache-Status are lists to which
// each handler adds, so merge joins them.
func Merge(to, from http.Header) {
	for name, values := range from {
		to[name] = joinLists(name, to[name], values)
	}
}

// joinLists returns the values of a header of a response if outer handlers, or the cache, have
// already set some.
func joinLists(name string, outer, values []string) []string {
	switch {
	case len(outer) == 0:
	case name == "Vary":
		return append(slices.Clip(outer), values...)
	case name == "Cache-Status": // the nearest to the origin comes first (RFC 9211 §2)
		return append(slices.Clip(values), outer...)
	}
	return values
}

// Choices returns the values of a request's headers by which it selects a page that varies on names. With
// hashed set it returns their digests, because a value may be a credential.
func Choices(names []string, lines func(name string) []string, hashed bool) []Field {
	var fields []Field
	for _, name := range names {
		v := rules.VaryValue(name, lines(name))
		if hashed {
			v = string(address.AppendDigest(nil, v))
		}
		fields = append(fields, Field{name, []string{v}})
	}
	return fields
}

// Selects reports whether a page answers a request with header h: all headers that it varies on,
// besides those in its key, have the same values. With hashed set the page holds their digests.
func (p *Page) Selects(h http.Header, hashed bool) bool {
	var room [address.VariantLen]byte
	for _, f := range p.Vary {
		if len(f.Values) != 1 {
			return false
		}
		v := rules.VaryValue(f.Name, h[f.Name])
		if hashed {
			if f.Values[0] != string(address.AppendDigest(room[:0], v)) {
				return false
			}
		} else if f.Values[0] != v {
			return false
		}
	}
	return true
}

// Names returns the headers that the page varies on besides those in its key.
func (p *Page) Names() []string {
	names := make([]string, len(p.Vary))
	for i, f := range p.Vary {
		names[i] = f.Name
	}
	return names
}

// Equal compares a page with another rendering of it, without what differs in each rendering.
func (p *Page) Equal(b *Page, ignored []string) bool {
	if p == nil || b == nil {
		return p == b
	}
	return p.Status == b.Status && bytes.Equal(p.Body, b.Body) &&
		slices.EqualFunc(p.audited(ignored), b.audited(ignored), func(f, g Field) bool {
			return f.Name == g.Name && slices.Equal(f.Values, g.Values)
		})
}

// audited returns the headers of a page that an audit compares.
func (p *Page) audited(ignored []string) []Field {
	return slices.DeleteFunc(slices.Clone(p.Header), func(f Field) bool {
		return f.Name == "Date" || f.Name == "Age" || slices.Contains(ignored, f.Name)
	})
}
