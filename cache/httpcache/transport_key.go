package httpcache

import (
	"encoding/binary"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
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
	slot := t.known.Slot(u)
	if k := slot.Load(); k != nil && k.URL == *u && k.Host == r.Host && k.Partition == string(parts) {
		return k.ID, reason.None
	}
	if id, why = t.spell(r, parts); why == reason.None && len(parts)+len(u.RawQuery)+len(u.Fragment) <= maxKnown {
		slot.Store(&address.KnownKey{URL: *u, Host: r.Host, Partition: string(parts), ID: id})
	}
	return id, why
}

// maxKnown limits what is remembered of a request besides what its key limits, in bytes.
const maxKnown = 512

// spell spells the key of a request in a partition.
func (t *Transport) spell(r *http.Request, partition []byte) (id string, why reason.Reason) {
	id, ok := address.URLKey(r, partition)
	switch {
	case !ok:
		return "", reason.Host
	case !t.k.Fits(id, address.VariantLen):
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
