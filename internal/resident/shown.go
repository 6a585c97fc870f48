package resident

import (
	"iter"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// What the hooks of the Tiers are shown of an entry: cache.Entry.

// Key returns the full key.
func (it *Entry) Key() string { return it.FullKey() }

// Tags yields the hash and the text of each tag.
func (d *Rare) Tags() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for i, hash := range d.Deps.Tags {
			if !yield(hash, d.TextOf(i)) {
				return
			}
		}
	}
}

// Built reports whether the value was built from other cached values.
func (d *Rare) Built() bool { return len(d.Keys) > 0 }

// BuiltFrom reports whether an invalidation of a key or of a prefix covers a value that the entry's was
// built from.
func (d *Rare) BuiltFrom(s invalidate.Scope) bool {
	hash := s.Hash()
	if s.Kind() == invalidate.KindPrefix {
		hash = fence.Stem(s.Text())
	}
	return d.Built() && (d.ManyParts() || slices.Contains(d.Keys, hash) || slices.Contains(d.Prefixes, hash))
}

// Alive reports whether the entry is in the local tier and may still be served. A hook may call it, so it takes
// no lock.
func (it *Entry) Alive() bool {
	// First what may report an Expire, which changes the times.
	unfenced := it.isResident() && it.check(it.Home.Fences)
	now, open := it.Home.Owner.Now()
	return open && unfenced && it.Freshness(now) != Dead
}

// Age returns the time since the load of the value began.
func (it *Entry) Age() time.Duration {
	now, _ := it.Home.Owner.Now()
	return time.Duration(max(now-it.LoadedAt, 0))
}

// Stale reports whether the entry's freshness is over, or it has left the local tier.
func (it *Entry) Stale() bool {
	unfenced := it.isResident() && it.check(it.Home.Fences) // first, as in Alive
	now, open := it.Home.Owner.Now()
	return !open || !unfenced || it.Freshness(now) < Untrusted
}
