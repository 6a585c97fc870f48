package sqllog

import (
	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// RowTexts returns the texts of rows that name scopes.
func RowTexts(scopes ...invalidate.Scope) ([]string, error) { return rowTexts(scopes) }

// ParseRow returns the fences of a row.
func ParseRow(text string) (keys []string, fences []invalidate.Fence, ok bool) {
	n, ok := parseRow(text, nil)
	for _, k := range n.keys {
		fences = append(fences, keyFence(k))
	}
	return n.keys, append(fences, n.scopes...), ok
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

// SameServer compares identities of MySQL.
func SameServer(a, b string) bool { return sameMySQL(a, b) }
