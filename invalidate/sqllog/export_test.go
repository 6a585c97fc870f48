package sqllog

import (
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
)

// RowTexts returns the texts of rows that name scopes.
func RowTexts(scopes ...invalidate.Scope) ([]string, error) { return outbox.Texts(scopes) }

// ParseRow returns the fences of a row.
func ParseRow(text string) (keys []string, fences []invalidate.Fence, ok bool) {
	n, ok := outbox.Parse(text)
	for _, k := range n.Keys {
		keys = append(keys, k.String())
		fences = append(fences, invalidate.Fence{Scope: invalidate.Key(k)})
	}
	for _, s := range n.Scopes {
		fences = append(fences, invalidate.Fence{Scope: s})
	}
	return keys, fences, ok
}

// Explain adds what a database error means for a log.
func Explain(err error) error { return explain(err) }

// SameServer compares identities of MariaDB.
func SameServer(a, b string) bool { return sameMariaDB(a, b) }
