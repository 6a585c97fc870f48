package content

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// NewKey returns a key that nobody can guess, and its parts.
func NewKey() (key, prefix, secret string) {
	prefix = strings.ToLower(rand.Text()[:8]) // 40 bits: to find it by, not to keep it secret
	secret = rand.Text()
	return prefix + "_" + secret, prefix, secret
}

// SplitKey returns the parts of a key.
func SplitKey(key string) (prefix, secret string, ok bool) {
	prefix, secret, ok = strings.Cut(key, "_")
	return prefix, secret, ok && prefix != "" && len(prefix) <= 32 && secret != ""
}

// HashSecret returns what is stored of a secret. It is random and long, so one
// plain hash is as good as a slow one.
func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Matches reports whether secret is that of the key. It takes the same time
// whatever secret is.
func (k APIKey) Matches(secret string) bool {
	return subtle.ConstantTimeCompare(k.Hash, HashSecret(secret)) == 1
}
