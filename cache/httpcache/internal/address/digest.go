package address

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// VariantLen is how many bytes the key of a variant adds: "|" and a digest.
const VariantLen = 44

// Variant is an entry beside that of the URL, for requests that the first variant does not
// answer.
type Variant struct {
	ID    string
	names []string // of the headers that select it
}

// VariantOf returns the variant of the entry id that answers a request with header h, if
// responses vary on names.
func VariantOf(id string, names []string, h http.Header) *Variant {
	var parts []byte
	for _, name := range names {
		parts = append(parts, name...)
		parts = append(parts, '=')
		parts = AppendDigest(parts, rules.VaryValue(name, h[name]))
		parts = append(parts, '|')
	}
	return &Variant{id + "|" + string(appendSum(nil, parts)), names}
}

// Covers reports whether the key of v holds all the headers of names. The entry of the URL, which is
// nil, holds any.
func (v *Variant) Covers(names []string) bool {
	return v == nil || !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(v.names, name) })
}

// AppendDigest appends the digest of s, or "-" if s is empty.
func AppendDigest(b []byte, s string) []byte {
	var room [512]byte
	return appendSum(b, append(room[:0], s...))
}

func appendSum(b, data []byte) []byte {
	if len(data) == 0 {
		return append(b, '-')
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.AppendEncode(b, sum[:])
}

// URLKey spells the URL of a request in a partition. It reports false for a URL that no client should send.
func URLKey(r *http.Request, partition []byte) (id string, ok bool) {
	var room [512]byte
	u, b := r.URL, appendSum(room[:0], partition)
	b = append(b, '|')
	b = append(b, u.Scheme...)
	b = append(b, "//"...)
	b = append(b, HostOf(r)...)
	if r.Host != "" && r.Host != u.Host { // one server may be asked for another host
		b = append(b, "|@="...)
		b = append(b, u.Host...)
	}
	b = appendPlain(b, Normal(cmp.Or(u.EscapedPath(), "/")))
	if u.RawQuery != "" || u.ForceQuery {
		b = append(b, '?')
		b = AppendDigest(b, Normal(u.RawQuery))
	}
	if slices.ContainsFunc(b, func(c byte) bool { return c <= ' ' || c >= 0x7f }) {
		return "", false
	}
	return string(b), true
}

// Known are the keys of some requests. A client asks for the same URLs again and again, and a digest
// takes longer than all else about a hit.
type Known struct {
	Seed  maphash.Seed
	slots [256]atomic.Pointer[KnownKey]
}

// KnownKey is a key with all that it was made of.
type KnownKey struct {
	URL             url.URL
	Host, Partition string
	ID              string
}

// Slot returns the place of the key of a URL. Another key may be there.
func (k *Known) Slot(u *url.URL) *atomic.Pointer[KnownKey] {
	return &k.slots[(maphash.String(k.Seed, u.Path)^maphash.String(k.Seed, u.RawQuery))%uint64(len(k.slots))]
}
