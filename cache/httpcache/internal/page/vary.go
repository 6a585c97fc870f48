package page

import (
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

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
