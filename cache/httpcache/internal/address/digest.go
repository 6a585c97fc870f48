package address

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"

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
