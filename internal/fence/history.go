package fence

import (
	"github.com/twofold-go/twofold/invalidate"
)

// stamp says when a scope was last invalidated: by the ticks of this process, by the positions of the log,
// and by the clock.
type stamp struct {
	tick uint64
	pos  invalidate.Position
	at   int64 // since the origin, taken before the tick
}

func (s stamp) later(o stamp) stamp {
	return stamp{max(s.tick, o.tick), max(s.pos, o.pos), max(s.at, o.at)}
}

// kind is what a history is about.
type kind uint8

// The kinds of scopes that have nodes and histories.
const (
	ofKey  kind = iota // a key
	ofTag              // a tag
	ofStem             // a prefix of namespaces that ends with a colon
	ofStub             // a prefix of ids that ends with a colon of the key, which is spelled %3A
	kinds
)

// most is how many scopes of each kind a map of a shard's history has.
var most = [kinds]int{ofKey: 1536, ofTag: 1536, ofStem: 256, ofStub: 512}

// mostSoft is the same for an Expire of any kind.
var mostSoft = 512

// idOf mixes the kind into the hash of a scope: a tag may be spelled like a key.
func idOf(k kind, hash uint64) uint64 { return hash + uint64(k)*0x9e3779b97f4a7c15 }

// history remembers the last invalidations of the scopes of a shard, in two maps. When the newer one is
// full, the older one is forgotten. What is not remembered counts as invalidated at forgot.
type history struct {
	last   [2]map[uint64]stamp // the newer and the older ones
	top    [2]stamp            // the latest of each
	forgot stamp               // the latest that was forgotten
}

func (h *history) note(id uint64, now stamp, most int) {
	if h.last[0] == nil || len(h.last[0]) >= most {
		h.forgot = h.forgot.later(h.top[1])
		old := h.last[1]
		if old == nil {
			old = map[uint64]stamp{}
		}
		clear(old)
		h.last[0], h.last[1] = old, h.last[0]
		h.top[0], h.top[1] = stamp{}, h.top[0]
	}
	// Not now alone, because positions do not rise: the process applies its own write, 100, before its tail
	// brings 90. If 100 was forgotten in between, a frame at 95 would pass.
	if now.pos < h.newest().pos { // otherwise it is the latest of all, in every way
		now = now.later(h.of(id))
	}
	h.last[0][id] = now
	h.top[0] = h.top[0].later(now)
}

// of returns when a scope was invalidated last, at the latest.
func (h *history) of(id uint64) stamp {
	if s, ok := h.known(id); ok {
		return s
	}
	return h.forgot
}

// known returns when a scope was invalidated last, if that is remembered.
func (h *history) known(id uint64) (stamp, bool) {
	s, ok := h.last[0][id]
	if !ok {
		s, ok = h.last[1][id]
	}
	return s, ok
}

// newest returns the latest of all that was ever noted.
func (h *history) newest() stamp { return h.top[0].later(h.top[1]).later(h.forgot) }

func (h *history) len() int { return len(h.last[0]) + len(h.last[1]) }
