package store

import (
	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/fence"
)

// Fences are remembered exactly only for a while. Before the process forgets some, a background
// walk checks the entries of the local tier once. Each entry that no fence covers notes the tick
// of that check. So an entry ends by an invalidation that covers it, and rarely because too many
// other keys were invalidated.

// settleEntry checks an entry before fences are forgotten, and takes a dead entry out of the tier. It
// skips an entry whose key panics when it is spelled; that entry is lost later.
func (t *Core) settleEntry(it *entry.Entry, s *fence.Survey) {
	defer func() { _ = recover() }()
	if it.Settle(t.Fences, s) {
		t.drop(it)
	}
}

// drop takes a dead entry out of the local tier, only to give the memory back. The lock keeps it
// from taking out the entry's successor.
func (t *Core) drop(it *entry.Entry) {
	at := ViewOf(it).Kind.Slot(it)
	mu := t.PutsOf(at)
	mu.Lock()
	defer mu.Unlock()
	if e, ok := t.Local.Get(at); ok && e == any(&it.Node) {
		t.Local.Delete(at)
	}
}

// settleBeforeForgetting makes the fences ask for a walk through the local tier before they
// forget.
func (t *Core) settleBeforeForgetting() {
	t.Fences.OnForget(func() {
		walk := new(calls.Scope) // ends when the tiers close
		if t.Work.Begin(&walk.Task, walk) {
			go t.settle(walk)
		} else {
			t.Fences.Settled(0)
		}
	})
}

func (t *Core) settle(walk *calls.Scope) {
	defer t.Work.End(&walk.Task)
	s, upTo := t.Fences.Survey(), uint64(0)
	defer func() { t.Fences.Settled(upTo) }()
	batch, n := make([]*entry.Entry, 0, walkBatch), 0
	flush := func() {
		for _, it := range batch {
			t.settleEntry(it, s)
		}
		n += len(batch)
		batch = batch[:0]
	}
	t.Local.Range(func(e any) bool {
		if it := entry.In(e); it != nil {
			if batch = append(batch, it); len(batch) == walkBatch {
				flush()
			}
		}
		return !t.Work.Closed()
	})
	if flush(); !t.Work.Closed() {
		upTo = s.Tick()
		t.Fences.Expect(n)
	}
}

// walkBatch is how many entries the walk collects before it checks them. Each entry costs a miss of
// the processor's caches. The processor overlaps the misses of a loop that does nothing else.
const walkBatch = 64
