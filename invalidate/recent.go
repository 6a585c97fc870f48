package invalidate

// keyFence is the newest fence of one key.
type keyFence struct {
	tick uint64
	pos  Position
}

// recentKeys is the exact table of the newest maxRecent key fences.
type recentKeys struct {
	m       map[uint64]keyFence
	ring    []uint64 // their hashes in order of age, from head
	head    int      // oldest in ring
	evicted uint64   // tick of the newest fence that fell out
}

func newRecentKeys() recentKeys { return recentKeys{m: map[uint64]keyFence{}} }

// put notes a fence. A key that is fenced again keeps its place in the ring: it
// may fall out early, and is then judged by its bucket, which errs on the side
// of a reload.
func (r *recentKeys) put(hash uint64, f keyFence) {
	old, known := r.m[hash]
	if !known {
		r.makeRoom(hash)
	}
	r.m[hash] = keyFence{tick: max(f.tick, old.tick), pos: max(f.pos, old.pos)}
}

func (r *recentKeys) makeRoom(hash uint64) {
	if len(r.ring) < maxRecent {
		r.ring = append(r.ring, hash)
		return
	}
	old := r.ring[r.head]
	r.evicted = max(r.evicted, r.m[old].tick)
	delete(r.m, old)
	r.ring[r.head] = hash
	r.head = (r.head + 1) % maxRecent
}

// covers reports whether the key was fenced after tick; bucket is the key's in
// the key clock. A key unknown to the table may have fallen out of it, so
// nothing older than the newest loss is believed unless its bucket vouches for
// it.
func (r *recentKeys) covers(hash, tick, bucket uint64) bool {
	if k, ok := r.m[hash]; ok {
		return k.tick > tick
	}
	return r.evicted > tick && bucket > tick
}
