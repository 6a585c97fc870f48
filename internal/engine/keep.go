package engine

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/twofold-go/twofold/internal/fence"
)

// bear makes an entry that holds the job's key ready for a value. It is born at mark.
func (j *Job) bear(it *Entry, mark fence.Mark) *Entry {
	it.View, it.low, it.rare = j.v, uint32(j.hash), common //nolint:gosec // the low half is what is wanted
	it.born.Store(mark.Tick)
	return it
}

// take returns an entry of the job's key for a value, born at mark. The first is the one that holds
// the key for the job. Its key never changes, so joiners may compare it meanwhile. Only the goroutine
// that works on a flight calls take.
func (j *Job) take(mark fence.Mark) *Entry {
	it := j.e
	if j.used {
		it = j.v.kind.Blank(it)
	}
	j.used = true
	return j.bear(it, mark)
}

// remembered reports whether the item is a remembered error.
func (it *Entry) remembered() bool { return it.Err != nil && !errors.Is(it.Err, ErrNotFound) }

// sizeUnknown stands for a size that was not measured.
const sizeUnknown = -1

// putsOf returns the lock under which an address changes.
func (t *Core) putsOf(at uint64) *sync.Mutex { return &t.puts[at%uint64(len(t.puts))] }

// put keeps an item in the local tier, unless an invalidation or a newer value came first. A
// lock makes the check and the store one step for the key: a late load must not replace the
// value of a Set.
func (j *Job) put(it *Entry) { j.putSized(it, j.sizeOf(it)) }

// putSized is put for an item whose value has size bytes.
func (j *Job) putSized(it *Entry, size int64) {
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
func (j *Job) dropOlder(it *Entry) {
	if it.remembered() {
		return
	}
	if cur := j.v.lookup(j.at, j.same); cur != nil && cur.loadedAt < it.loadedAt {
		j.t.local.Delete(j.at)
	}
}

// putLocked is putSized under the lock. It reports false only if the tier has no room for the item.
func (j *Job) putLocked(it *Entry, size int64) bool {
	if !j.unfencedNow(it) {
		return true
	}
	if cur := j.v.lookup(j.at, j.same); cur == it || cur != nil && cur.loadedAt > it.loadedAt && j.unfenced(cur) {
		return true
	}
	if it.remembered() && j.v.old(j.at, j.same) != nil {
		return true // an error replaces no good value
	}
	it.Plain = it.Err == nil && len(it.Deps.Tags)+len(it.Keys) == 0
	it.putSeal()
	j.t.stored(it)
	return j.t.local.Set(j.at, &it.Node, j.cost(it, size))
}

// sizeOf returns the bytes of an item's value. It walks through the value.
func (j *Job) sizeOf(it *Entry) int64 {
	if it.Err != nil {
		return 0
	}
	return j.v.size(j.v.kind.Value(it))
}

// cost returns about how much memory an item takes, if its value has size bytes.
func (j *Job) cost(it *Entry, size int64) int64 {
	n := j.v.fixed + max(size, int64(j.v.ValueType.Size())) + max(j.v.keySize(j.v.kind.Key(it)), int64(j.v.keyType.Size()))
	if !it.shared {
		n += int64(unsafe.Sizeof(*it.rare)) + int64(8*(len(it.Deps.Tags)+len(it.Keys)+len(it.Prefixes)))
	}
	if it.terms != nil {
		n += int64(unsafe.Sizeof(*it.terms))
	}
	for _, text := range it.texts {
		n += int64(unsafe.Sizeof(text)) + int64(len(text))
	}
	return n
}
