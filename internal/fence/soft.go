package fence

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// A soft fence ends the freshness of what it covers, not its life. What a hard fence covers is
// dead, even if the soft fence came first. So soft fences are checked last, and only for values
// that no hard fence covers.
//
// They have their own table, which includes keys, under Fences.mu. No cell is removed for a softly
// fenced key, so its record is in the scope sequence. A process that misses records of that sequence
// discards frames, too, and a frame is compared by its position in it.

// Forever is a time that never comes: no fence has ended the freshness.
const Forever = int64(math.MaxInt64)

// softTable remembers the newest soft fence of each scope for a while.
type softTable struct {
	scopeTable
	newest uint64 // tick of the last fence
	times  times
}

// put notes a fence of which the tick was taken at a time, or later.
func (t *softTable) put(s *Hashed, f fenced, at int64, settled uint64) (due bool) {
	t.newest = f.tick
	t.times.note(f.tick, at)
	return t.scopeTable.put(s, f, settled)
}

// check compares the fences with an entry that is clear of hard ones; key fences only if keyed. An
// entry that a forgotten fence may cover counts as dead, because the time at which its freshness
// ended is unknown.
func (t *softTable) check(s *suspect, keyed bool) verdict {
	newest, v := uint64(0), unfenced
	see := func(f fenced, forgot uint64) { newest, v = max(newest, f.tick), max(v, f.check(s.born, forgot)) }
	if keyed {
		see(t.keys.find(s.hash), t.keys.forgotten)
	}
	t.visit(s.key, s.deps, s.born, see)
	if s.deps.built() && max(t.keys.forgotten, t.stems.forgotten) > s.born {
		v = max(v, forgotten)
	}
	if newest > s.born {
		s.fresh = t.times.of(newest)
		return unfenced
	}
	if v == forgotten || t.prefixes.forgotten > s.born {
		return forgotten
	}
	return unfenced
}

// frame compares the fences with a frame as of a position of the scope sequence. A frame that may
// be older than a forgotten fence is refused.
func (t *softTable) frame(asOf invalidate.Position, hash uint64, key string, d *Deps) (fresh int64, ok bool) {
	if asOf < t.floorFor(d) {
		return Forever, false
	}
	var newest uint64
	see := func(f fenced, _ uint64) {
		if f.pos > asOf {
			newest = max(newest, f.tick)
		}
	}
	see(t.keys.find(hash), 0)
	t.visit(key, d, 0, see)
	if newest == 0 {
		return Forever, true
	}
	return t.times.of(newest), true
}

// times records when soft fences took their ticks, up to a millisecond early and never late.
type times struct{ taken []moment }

type moment struct {
	tick uint64
	at   int64
}

// maxTimes bounds the moments, in 4 MB. Beyond it the older ones get coarser: what was fenced then
// counts as expired a little earlier than it was.
const maxTimes = 1 << 18

func (t *times) note(tick uint64, now int64) {
	if n := len(t.taken); n > 0 && now-t.taken[n-1].at < int64(time.Millisecond) {
		return
	}
	if len(t.taken) == maxTimes {
		t.thin()
	}
	t.taken = append(t.taken, moment{tick, now})
}

// thin drops every other moment of the older half.
func (t *times) thin() {
	kept := 0
	for i := 0; i < maxTimes/2; i += 2 {
		t.taken[kept] = t.taken[i]
		kept++
	}
	t.taken = slices.Delete(t.taken, kept, maxTimes/2)
}

// of returns when a soft fence took a tick. The first moment is never dropped.
func (t *times) of(tick uint64) int64 {
	i := sort.Search(len(t.taken), func(i int) bool { return t.taken[i].tick > tick })
	return t.taken[max(i-1, 0)].at
}
