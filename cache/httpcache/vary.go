package httpcache

import (
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// choices returns the values that header h has for names. With hashed set it returns their digests,
// because a value may be a credential.
func choices(h http.Header, names []string, hashed bool) []field {
	var fields []field
	for _, name := range names {
		v := rules.VaryValue(name, h)
		if hashed {
			v = string(address.AppendDigest(nil, v))
		}
		fields = append(fields, field{name, []string{v}})
	}
	return fields
}

// selects reports whether a page answers a request with header h: all headers that it varies on,
// besides those in its key, have the same values.
func (k *core) selects(p *page, h http.Header) bool {
	var room [address.VariantLen]byte
	for _, f := range p.Vary {
		if len(f.Values) != 1 {
			return false
		}
		v := rules.VaryValue(f.Name, h)
		if k.hashed {
			if f.Values[0] != string(address.AppendDigest(room[:0], v)) {
				return false
			}
		} else if f.Values[0] != v {
			return false
		}
	}
	return true
}

// names returns the headers that the page varies on besides those in its key.
func (p *page) names() []string {
	names := make([]string, len(p.Vary))
	for i, f := range p.Vary {
		names[i] = f.Name
	}
	return names
}
