package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/invalidate"
)

// SiteTag returns the tag of all entries of a path of one host, by http and https.
func (k *Core) SiteTag(host, path string) string {
	return TagOf(k.Space.Namespace + " site " + strings.ToLower(address.WithoutPort(host)) + path)
}

// TagOf returns tag, or its hash if it is too long or not UTF-8.
func TagOf(tag string) string {
	if len(tag) <= invalidate.MaxTagLen && utf8.ValidString(tag) {
		return tag
	}
	sum := sha256.Sum256([]byte(tag))
	return "httpcache path sha256 " + hex.EncodeToString(sum[:])
}
