package fence

import (
	"github.com/twofold-go/twofold/invalidate"
)

// DepsSince is Since for what a value depends on: whether a fence of one of its tags, or of the key
// of one of its parts, or of a prefix that may be one of theirs, may have been stored after the
// generation. A fence of other tags costs an entry a load for each of its tags.
func (f *Fences) DepsSince(gen uint64, d *Deps) bool {
	for _, tag := range d.tags() {
		last := &f.lastTags[tag&groupMask]
		if tag == invalidate.AnyTag {
			last = &f.tagged
		}
		if last.Load() > gen {
			return true
		}
	}
	if !d.built() {
		return false
	}
	if d.anyKey() {
		return f.gen.Load() > gen
	}
	if f.prefixed.Load() > gen {
		return true
	}
	for _, k := range d.Keys {
		if f.last[k&groupMask].Load() > gen {
			return true
		}
	}
	return false
}

// partsQuiet is quiet for the keys of a value's parts. Only the tables can tell for a value with too
// many parts: the tick moves after the generation, so a fence between the two would be missed.
func (f *Fences) partsQuiet(tick uint64, d *Deps) bool {
	if !d.built() {
		return true
	}
	if d.anyKey() {
		return false
	}
	for _, k := range d.Keys {
		if f.keys[k&clockMask].Load() > tick {
			return false
		}
	}
	return true
}

// checkParts compares key fences with the parts of s. The caller has read the tick up to which it
// checks. A fence moves its bucket before it takes its tick, so no bucket here is too old. It holds
// its shard's lock until it is stored.
func (f *Fences) checkParts(s *suspect) (v verdict) {
	if s.deps.anyKey() {
		if f.recent.newest().tick > s.born {
			return covered
		}
		return unfenced
	}
	for _, k := range s.deps.Keys {
		if f.keys[k&clockMask].Load() > s.born {
			v = max(v, f.recent.check(k, s.born))
		}
	}
	return v
}

// refusesParts reports whether a frame as of a position of the key sequence may be older than the
// fence of the key of one of its parts. No cell of a built value is removed with its part's, so a
// fence of a key that this process may have missed counts, too. mu is held.
func (f *Fences) refusesParts(asOf invalidate.Position, d *Deps) bool {
	if !d.built() {
		return false
	}
	if asOf < f.keyFloor || f.from == logged && f.Cursor().Key == 0 {
		return true
	}
	if d.anyKey() {
		return f.recent.newest().pos > asOf
	}
	for _, k := range d.Keys {
		if pos, floor := f.recent.known(k); max(pos, floor) > asOf {
			return true
		}
	}
	return false
}
