package httpcache

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// lookAt returns h and what is in it. If a name is not canonical, it returns a canonical copy: a
// credential in any spelling is a credential.
func lookAt(h http.Header) (http.Header, rules.Seen) {
	saw := rules.Look(h)
	if saw.Any(rules.SawOddName) {
		h = rules.Canonical(h)
		saw = rules.Look(h)
	}
	return h, saw
}

// key returns the key of the entry that answers a request with header h, or the reason why the
// request bypasses the cache. The key holds the digest of the partition, the URL, and the digest
// of the query. So it shows no credential and no parameter.
func (t *Transport) key(r *http.Request, h http.Header, saw rules.Seen) (id string, why reason.Reason) {
	u := r.URL
	switch {
	case r.Method != http.MethodGet && r.Method != "" && r.Method != http.MethodHead:
		return "", reason.Method
	case r.Body != nil && r.Body != http.NoBody:
		return "", reason.Body
	case u == nil || u.Opaque != "" || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", reason.Host
	case saw.Any(rules.SawUpgrade) || saw.Any(rules.SawConnection) && rules.Lists(h["Connection"], "upgrade"):
		return "", reason.Upgrade
	case saw.Any(rules.SawIfMatch):
		return "", reason.Precondition
	}
	var room [512]byte
	parts := t.appendPartition(room[:0], r, h, saw)
	slot := t.known.slot(u)
	if k := slot.Load(); k != nil && k.url == *u && k.host == r.Host && k.partition == string(parts) {
		return k.id, reason.None
	}
	if id, why = t.spell(r, parts); why == reason.None && len(parts)+len(u.RawQuery)+len(u.Fragment) <= maxKnown {
		slot.Store(&knownKey{*u, r.Host, string(parts), id})
	}
	return id, why
}

// maxKnown limits what is remembered of a request besides what its key limits, in bytes.
const maxKnown = 512

// known are the keys of some requests. A client asks for the same URLs again and again, and a digest
// takes longer than all else about a hit.
type known struct {
	seed  maphash.Seed
	slots [256]atomic.Pointer[knownKey]
}

type knownKey struct {
	url             url.URL
	host, partition string
	id              string
}

func (k *known) slot(u *url.URL) *atomic.Pointer[knownKey] {
	return &k.slots[(maphash.String(k.seed, u.Path)^maphash.String(k.seed, u.RawQuery))%uint64(len(k.slots))]
}

// spell spells the key of a request in a partition.
func (t *Transport) spell(r *http.Request, partition []byte) (id string, why reason.Reason) {
	var room [512]byte
	u, b := r.URL, appendSum(room[:0], partition)
	b = append(b, '|')
	b = append(b, u.Scheme...)
	b = append(b, "//"...)
	b = append(b, hostOf(r)...)
	if r.Host != "" && r.Host != u.Host { // one server may be asked for another host
		b = append(b, "|@="...)
		b = append(b, u.Host...)
	}
	b = appendPath(b, u)
	if u.RawQuery != "" || u.ForceQuery {
		b = append(b, '?')
		b = appendDigest(b, u.RawQuery)
	}
	if slices.ContainsFunc(b, func(c byte) bool { return c <= ' ' || c >= 0x7f }) {
		return "", reason.Host
	}
	id = string(b)
	if !t.fits(id, variantLen) {
		return "", reason.KeyLength
	}
	return id, reason.None
}

// appendPartition appends what separates the responses to r from others.
func (t *Transport) appendPartition(parts []byte, r *http.Request, h http.Header, saw rules.Seen) []byte {
	part := func(s string) {
		parts = binary.AppendUvarint(parts, uint64(len(s)))
		parts = append(parts, s...)
	}
	switch {
	case t.cfg.Partition != nil:
		parts = append(parts, t.cfg.Partition(r)...)
	case !t.cfg.Shared:
		for i, name := range t.cfg.Credentials {
			if i < usual && !saw.Any(rules.SawAuthorization<<i) {
				continue
			}
			for _, v := range h[name] {
				parts = binary.AppendUvarint(parts, uint64(i))
				part(v)
			}
		}
		if user := r.URL.User; user != nil {
			parts = binary.AppendUvarint(parts, uint64(len(t.cfg.Credentials)))
			part(user.String())
		}
	}
	return parts
}

// appendDigest appends the digest of s, or "-" if s is empty.
func appendDigest(b []byte, s string) []byte {
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

// appendPath appends the escaped path, with "^" for "%"; see readable.
func appendPath(b []byte, u *url.URL) []byte {
	p := u.EscapedPath()
	if p == "" {
		p = "/"
	}
	start := len(b)
	b = append(b, p...)
	for i, c := range b[start:] {
		if c == '%' {
			b[start+i] = '^'
		}
	}
	return b
}

// hostOf returns the host of a request, normalized.
func hostOf(r *http.Request) string {
	if r.Host != "" {
		return plainHost(r.URL.Scheme, r.Host)
	}
	return plainHost(r.URL.Scheme, r.URL.Host)
}

// plainHost returns a host in lower case, without the default port of its scheme.
func plainHost(scheme, host string) string {
	host = strings.ToLower(host)
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}
