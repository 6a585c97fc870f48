package address

import (
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
)

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
	b = appendPath(b, u)
	if u.RawQuery != "" || u.ForceQuery {
		b = append(b, '?')
		b = AppendDigest(b, u.RawQuery)
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
