package resident

import (
	"context"

	"github.com/twofold-go/twofold/key"
)

// Kind is what the engine asks about the types of one cache. Load, LoadMany, Tags, Clone and
// Empty run the user's code, so each may panic. Every entry that a method gets is of the cache's
// Tiers and space, and so of its types.
type Kind interface {
	// Same reports whether two entries hold the same key. Blank returns a new entry with the key of
	// another, and Slot the key's address in the local tier. Spell spells the key, and ID the part
	// after the namespace, or "" if it cannot be spelled.
	Same(a, b *Entry) bool
	Blank(like *Entry) *Entry
	Slot(e *Entry) uint64
	Spell(e *Entry) (key.Key, error)
	ID(e *Entry) string

	// Load calls a loader for one entry and stores the value in it. LoadMany does so for many, and
	// returns the error of each, and that of the whole call. An entry with an error keeps no value.
	Load(ctx context.Context, loader any, e *Entry) error
	LoadMany(ctx context.Context, es []*Entry) (perKey []error, whole error)

	// Adopt gives an entry the value of another. Clone replaces an entry's value by a copy, if the
	// Config has Clone.
	Adopt(e, prev *Entry)
	Clone(e *Entry)

	// Tags returns the tags of Config.Tags, and Empty what Config.Empty says.
	Tags(e *Entry) []string
	Empty(e *Entry) bool

	// Equal is Config.Equal of two values, if known.
	Equal(a, b *Entry) (equal, known bool)

	// Key and Value return pointers to the key and the value: a *K and a *V.
	Key(e *Entry) any
	Value(e *Entry) any
}
