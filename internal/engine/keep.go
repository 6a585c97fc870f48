package engine

import (
	"sync"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/fence"
)

// take returns an entry of the job's key for a value, born at mark. The first is the one that holds
// the key for the job. Its key never changes, so joiners may compare it meanwhile. Only the goroutine
// that works on a flight calls take.
func (j *Job) take(mark fence.Mark) *entry.Entry {
	it := j.e
	if j.used {
		it = j.v.kind.Blank(it)
	}
	j.used = true
	it.Bear(&j.v.Home, j.hash, mark.Tick)
	return it
}

// sizeUnknown stands for a size that was not measured.
const sizeUnknown = -1

// putsOf returns the lock under which an address changes.
func (t *Core) putsOf(at uint64) *sync.Mutex { return &t.puts[at%uint64(len(t.puts))] }

// put keeps an item in the local tier, unless an invalidation or a newer value came first. A
// lock makes the check and the store one step for the key: a late load must not replace the
// value of a Set.
func (j *Job) put(it *entry.Entry) { j.putSized(it, j.sizeOf(it)) }

// putSized is put for an item whose value has size bytes.
func (j *Job) putSized(it *entry.Entry, size int64) {
	mu := j.t.putsOf(j.at)
	mu.Lock()
	defer mu.Unlock()
	if j.o.SkipLocal {
		j.dropOlder(it)
		return
	}
	j.putLocked(it, size)
}

// dropOlder is put for a job that skips the local tier. Later reads must not return an older
// value than the item. A remembered error removes no value.
func (j *Job) dropOlder(it *entry.Entry) {
	if it.Remembered() {
		return
	}
	if cur := j.v.lookup(j.at, j.same); cur != nil && cur.LoadedAt < it.LoadedAt {
		j.t.local.Delete(j.at)
	}
}

// putLocked is putSized under the lock. It reports false only if the tier has no room for the item.
func (j *Job) putLocked(it *entry.Entry, size int64) bool {
	if !it.UnfencedNow(j.t.fences, j) {
		return true
	}
	if cur := j.v.lookup(j.at, j.same); cur == it || cur != nil && cur.LoadedAt > it.LoadedAt && j.unfenced(cur) {
		return true
	}
	if it.Remembered() && j.v.old(j.at, j.same) != nil {
		return true // an error replaces no good value
	}
	it.Plain = it.Err == nil && len(it.Deps.Tags)+len(it.Keys) == 0
	it.PutSeal()
	j.t.stored(it)
	return j.t.local.Set(j.at, &it.Node, j.cost(it, size))
}

// sizeOf returns the bytes of an item's value. It walks through the value.
func (j *Job) sizeOf(it *entry.Entry) int64 {
	if it.Err != nil {
		return 0
	}
	return j.v.size(j.v.Value(it))
}

// cost returns about how much memory an item takes, if its value has size bytes.
func (j *Job) cost(it *entry.Entry, size int64) int64 {
	return it.Overhead() + j.v.fixed + max(size, int64(j.v.ValueType.Size())) + max(j.v.keySize(j.v.kind.Key(it)), int64(j.v.keyType.Size()))
}
