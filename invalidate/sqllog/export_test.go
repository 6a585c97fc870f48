package sqllog

import (
	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
)

// RowTexts returns the texts of rows that name scopes.
func RowTexts(scopes ...invalidate.Scope) ([]string, error) { return outbox.Texts(scopes) }

// ParseRow returns the fences of a row.
func ParseRow(text string) (keys []string, fences []invalidate.Fence, ok bool) {
	n, ok := outbox.Parse(text, nil)
	for _, k := range n.Keys {
		fences = append(fences, outbox.KeyFence(k))
	}
	return n.Keys, append(fences, n.Scopes...), ok
}

// Encode encodes fences that pass Check, for the keys or for the scopes.
func Encode(a invalidate.Append) (keys, scopes []byte, err error) {
	return logwire.Fixed.Payloads(a)
}

// Decode decodes for the keys, or for the scopes.
func Decode(payload []byte, keys bool) ([]invalidate.Fence, bool) {
	return logwire.Fixed.Decode(payload, keys)
}

// Explain adds what a database error means for a log.
func Explain(err error) error { return explain(err) }

// SameServer compares identities of MariaDB.
func SameServer(a, b string) bool { return sameMariaDB(a, b) }
