package httpcache

import (
	"net/http"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// maxLearned is how many request headers a response may vary on besides those in its key.
const maxLearned = 8

// learned returns the request headers that a response with header h varies on and that are not in its
// key, sorted and unique. Keyed reports whether a header needs no variant. It reports false for a
// response that no key can describe.
func learned(h http.Header, encoded bool, keyed func(name string) bool) (names []string, ok bool) {
	for _, line := range rules.VaryLines(h, encoded) {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if name == "" || slices.Contains(names, name) || keyed != nil && keyed(name) {
				continue
			}
			if name == "*" || !rules.IsToken(name) || unsafeToVary(name) {
				return nil, false
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, len(names) <= maxLearned
}

// keyed reports whether a header needs no variant: its value is in the key, or is the same for all
// clients because it is hidden.
func (x *handling) keyed(name string) bool { return x.c.declares(&x.t, name) || x.c.hides(name) }

// refuses returns the reason why the cache stores no response with the status, or none.
func (x *handling) refuses(status int) reason.Reason {
	if all := x.c.cfg.Statuses; all != nil && !slices.Contains(all, status) {
		return reason.Status
	}
	return reason.None
}

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
