package resident

import (
	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

// The bits of an entry's state. A plain hit needs an entry that is held and nothing else.
const (
	held    = 1 << iota // it holds its nodes: the local tier has it, or is about to
	left                // it has left the local tier, and its nodes hear nothing more
	dead                // an invalidation ended it, for good
	expired             // an Expire ended its freshness
)

func (it *Entry) is(bits uint32) bool { return it.state.Load()&bits == bits }

// Quiet reports whether a resident entry of a namespace needs no further look: nothing has ended it or its
// freshness.
func (it *Entry) Quiet(in *fence.Namespace) bool {
	return it.state.Load() == held && in.Quiet(it.mark, it.seen.Load()) && (it.Plain || it.quietNodes(it.seen.Load()))
}

// quietNodes reports whether no node tells of an invalidation, or of an Expire after the tick seen.
func (it *Entry) quietNodes(seen uint64) bool {
	for _, n := range it.nodes {
		if n.Since(it.mark, seen) {
			return false
		}
	}
	return true
}

// sound reports whether no node and no invalidation of its namespace has ended a resident entry. It takes no
// lock.
func (it *Entry) sound() bool {
	const never = 1<<64 - 1 // an Expire ends nothing
	return !it.is(held) || it.Home.In.Quiet(it.mark, never) && it.quietNodes(never)
}

// Unfenced reports whether no invalidation covers the entry. It also notes the end of its freshness by an
// Expire; read that afterwards. What can end a resident has told it; what is not in the local tier is
// compared with the history.
func (it *Entry) Unfenced(fences *fence.Fences) bool {
	if it.isResident() {
		ok := it.check(fences)
		if !it.is(left) {
			return ok
		}
	}
	if it.is(dead) {
		return false
	}
	full := it.FullKey()
	return full != "" && it.compare(fences, xxhash.Sum64String(full), full)
}

// UnfencedAs is Unfenced for an entry whose key the caller has spelled and hashed.
func (it *Entry) UnfencedAs(fences *fence.Fences, hash uint64, key string) bool {
	if it.isResident() {
		ok := it.check(fences)
		if !it.is(left) {
			return ok
		}
	}
	return it.compare(fences, hash, key)
}

func (it *Entry) isResident() bool { return it.state.Load()&(held|left) == held }

// check compares a resident entry.
func (it *Entry) check(fences *fence.Fences) bool {
	if it.is(dead) {
		return false
	}
	seen := it.seen.Load()
	now, fresh, ok := fences.Check(it.Home.In, it.nodes, it.mark, seen, it.FullKey)
	if !ok {
		it.End()
		return false
	}
	it.ExpireAt(fresh)
	for seen < now && !it.seen.CompareAndSwap(seen, now) {
		seen = it.seen.Load()
	}
	return !it.is(dead)
}

// compare compares an entry with the history.
func (it *Entry) compare(fences *fence.Fences, hash uint64, key string) bool {
	if it.is(dead) {
		return false
	}
	s := it.subject(hash, key)
	fresh, overtaken := fences.Overtaken(fence.Mark{Tick: it.mark}, it.Home.In, &s)
	if overtaken {
		it.End()
		return false
	}
	if !it.Expired() { // the history tells of an Expire again and again
		it.ExpireAt(fresh)
	}
	return true
}

func (it *Entry) subject(hash uint64, key string) fence.Subject {
	return fence.Subject{Hash: hash, Key: key, On: &it.Deps}
}

// End ends the entry, for good.
func (it *Entry) End() { it.state.Or(dead) }

// ExpireAt notes when an Expire that covers the entry was applied, unless that is [fence.Forever]. An earlier
// pause, by a failed or running load, ends with it.
func (it *Entry) ExpireAt(fresh int64) {
	if fresh != fence.Forever && !safeguard.Off(safeguard.Soft) {
		it.Expire(fresh)
		it.nextTry.Store(0)
	}
}

// Hold prepares an entry for the local tier: it hears of what can end it from now on. ok is false if the
// entry must not be stored, because an invalidation came first. Then, and when the entry leaves the tier, it
// must [Entry.Leave].
func (it *Entry) Hold(fences *fence.Fences, hash uint64, key string) (ok bool) {
	now := fences.Tick() // before the history is asked
	s := it.subject(hash, key)
	nodes, fresh, ok := fences.Hold(fence.Mark{Tick: it.mark}, it.Home.In, &s)
	if len(nodes) > 0 {
		it.Writable().nodes = nodes
	}
	it.ExpireAt(fresh)
	it.Plain = it.Err == nil && len(nodes) == 0
	it.seen.Store(now)
	it.state.Or(held)
	return ok
}

// WasHeld reports whether the entry was prepared for the local tier before. That happens once.
func (it *Entry) WasHeld() bool { return it.is(held) }

// Enter calls store, which gives the local tier an entry that is held, unless an invalidation of its key
// came first.
func (it *Entry) Enter(fences *fence.Fences, hash uint64, store func()) bool {
	return fences.Enter(fence.Mark{Tick: it.mark}, hash, func(fresh int64) {
		it.ExpireAt(fresh)
		store()
	})
}

// Leave gives back what a held entry holds, once. The local tier's hook calls it, perhaps with locks held.
func (it *Entry) Leave() {
	for old := it.state.Load(); old&(held|left) == held; old = it.state.Load() {
		if it.state.CompareAndSwap(old, old|left) {
			it.Home.Fences.Drop(it.nodes)
			return
		}
	}
}
