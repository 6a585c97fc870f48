package resident

import (
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/tier"
)

// Take returns an entry of the job's key for a value, born at mark. The first is the one that holds
// the key for the job. Its key never changes, so joiners may compare it meanwhile. Only the goroutine
// that works on a flight calls Take.
func (j *Job) Take(mark fence.Mark) *Entry {
	it := j.Entry
	if j.Used {
		it = j.View.Kind.Blank(it)
	}
	j.Used = true
	it.Init(&j.View.Home, mark)
	return it
}

// Put keeps an entry, whose value has size bytes, in the local tier, unless an invalidation or a newer
// value came first. A lock makes the check and the store one step for the key: a late load must not
// replace the value of a Set.
func (j *Job) Put(it *Entry, size int64) {
	mu := j.Core.PutsOf(j.Addr)
	mu.Lock()
	defer mu.Unlock()
	if j.Opts.Skip&SkipLocal != 0 {
		j.dropOlder(it)
		return
	}
	j.PutLocked(it, size)
}

// dropOlder is Put for a job that skips the local tier. Later reads must not return an older
// value than the entry. A remembered error removes no value.
func (j *Job) dropOlder(it *Entry) {
	if it.Remembered() {
		return
	}
	if cur := j.View.Lookup(j.Addr, j.Same); cur != nil && cur.LoadedAt < it.LoadedAt {
		j.Core.Local.Delete(j.Addr)
	}
}

// PutLocked is Put under the lock. It reports false only if the tier has no room for the entry.
func (j *Job) PutLocked(it *Entry, size int64) bool {
	t, f := j.Core, j.Core.Fences
	if it.WasHeld() {
		return true // the tier has it, or had it
	}
	if cur := j.View.Lookup(j.Addr, j.Same); cur != nil && cur.LoadedAt > it.LoadedAt && j.Unfenced(cur) {
		return true
	}
	if it.Remembered() && j.View.old(j.Addr, j.Same) != nil {
		return true // an error replaces no good value
	}
	if !it.Hold(f, j.Hash, j.FullKey()) {
		it.Leave()
		return true
	}
	it.PutSeal()
	t.stored(it)
	fits := true
	if !it.Enter(f, j.Hash, func() { fits = t.Local.Set(j.Addr, &it.Node, j.Cost(it, size)) }) {
		t.removed(&it.Node, 0, tier.Deleted) // it was never there, but its hook has seen it
	}
	return fits
}

// SizeOf returns the bytes of an entry's value. plain is the length of its encoding before
// compression, or 0 if the value was not encoded.
func (j *Job) SizeOf(it *Entry, plain int) int64 {
	switch {
	case it.Err != nil:
		return 0
	case j.View.size != nil:
		return j.View.size(j.View.Value(it))
	}
	return max(j.View.estimate(j.View.Value(it)), int64(j.View.ValueType.Size())+int64(plain))
}

// Cost returns about how much memory an entry takes, if its value has size bytes.
func (j *Job) Cost(it *Entry, size int64) int64 {
	return it.Overhead() + j.View.fixed + max(size, int64(j.View.ValueType.Size())) + max(j.View.keySize(j.View.Kind.Key(it)), int64(j.View.keyType.Size()))
}
