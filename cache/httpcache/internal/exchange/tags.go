package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/invalidate"
)

// TagsOf returns the tag of all entries of a path of one host, by http and https, and that of the path on
// every host.
func (k *Core) TagsOf(host, path string) [2]string {
	host = strings.ToLower(address.WithoutPort(host))
	site := host + " " + k.pathTag(path) // no host has a space
	return [...]string{tagOf(site), tagOf(site[len(host)+1:])}
}

// PathTag returns the tag of all entries of a path, of every host.
func (k *Core) PathTag(path string) string { return tagOf(k.pathTag(path)) }

func (k *Core) pathTag(path string) string { return k.Space.Namespace + " path " + cleaned(path) }

// cleaned returns a path without dot segments and empty ones: a program that reads the path may drop them,
// so a write to one spelling ends the entries of all.
func cleaned(p string) string {
	if !strings.HasPrefix(p, "/") {
		return p
	}
	short := path.Clean(p)
	if last := p[strings.LastIndexByte(p, '/'):]; short != "/" && (last == "/" || last == "/." || last == "/..") {
		short += "/"
	}
	return short
}

// tagOf returns tag, or its hash if it is too long or not UTF-8.
func tagOf(tag string) string {
	if len(tag) <= invalidate.MaxTagLen && utf8.ValidString(tag) {
		return tag
	}
	sum := sha256.Sum256([]byte(tag))
	return "httpcache path sha256 " + hex.EncodeToString(sum[:])
}
