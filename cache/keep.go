package cache

import (
	"errors"
	"unsafe"

	"github.com/twofold-go/twofold/internal/follow"
)

// newItem returns an item of the job's key without a value, born at mark.
func (j *job[K, V]) newItem(mark follow.Mark) *item[K, V] {
	it := &item[K, V]{view: j.v, key: j.k, low: uint32(j.hash), rare: common} //nolint:gosec // the low half is what is wanted
	it.born.Store(mark.Tick)
	return it
}

// remembered reports whether the item is a remembered error.
func (it *item[K, V]) remembered() bool { return it.err != nil && !errors.Is(it.err, ErrNotFound) }

// sizeUnknown stands for a size that was not measured.
const sizeUnknown = -1

// put keeps an item in the local tier, unless an invalidation or a newer value came first. A
// lock makes the check and the store one step for the key: a late load must not replace the
// value of a Set. put reports false only if the tier has no room for the item.
func (j *job[K, V]) put(it *item[K, V]) bool { return j.putSized(it, j.sizeOf(it)) }

// putSized is put for an item whose value has size bytes.
func (j *job[K, V]) putSized(it *item[K, V], size int64) bool {
	mu := &j.t.puts[j.at%uint64(len(j.t.puts))]
	mu.Lock()
	defer mu.Unlock()
	if j.o.skipLocal {
		j.dropOlder(it)
		return true
	}
	return j.putLocked(it, size)
}

// dropOlder is put for a job that skips the local tier. Later reads must not return an older
// value than the item. A remembered error removes no value.
func (j *job[K, V]) dropOlder(it *item[K, V]) {
	if it.remembered() {
		return
	}
	if cur := j.cache().lookup(j.at, j.k); cur != nil && cur.loadedAt < it.loadedAt {
		j.t.local.Delete(j.at)
	}
}

func (j *job[K, V]) putLocked(it *item[K, V], size int64) bool {
	if !j.unfenced(it) {
		return true
	}
	if cur := j.cache().lookup(j.at, j.k); cur == it || cur != nil && cur.loadedAt > it.loadedAt && j.unfenced(cur) {
		return true
	}
	if it.remembered() && j.cache().old(j.at, j.k) != nil {
		return true // an error replaces no good value
	}
	it.plain = it.err == nil && len(it.tags) == 0
	it.putSeal()
	j.t.stored(it)
	return j.t.local.Set(j.at, it, j.cost(it, size))
}

// sizeOf returns the bytes of an item's value. It walks through the value.
func (j *job[K, V]) sizeOf(it *item[K, V]) int64 {
	if it.err != nil {
		return 0
	}
	return j.s.size(&it.val)
}

// cost returns about how much memory an item takes, if its value has size bytes.
func (j *job[K, V]) cost(it *item[K, V], size int64) int64 {
	n := int64(unsafe.Sizeof(*it)) + max(size-int64(unsafe.Sizeof(it.val)), 0)
	n += max(j.s.keySize(&it.key)-int64(unsafe.Sizeof(it.key)), 0)
	if it.rare != common {
		n += int64(unsafe.Sizeof(*it.rare)) + int64(8*len(it.tags))
	}
	if it.terms != nil {
		n += int64(unsafe.Sizeof(*it.terms))
	}
	for _, text := range it.texts {
		n += int64(unsafe.Sizeof(text)) + int64(len(text))
	}
	return n
}
