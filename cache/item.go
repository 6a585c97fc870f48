package cache

import (
	"unsafe"

	"github.com/twofold-go/twofold/internal/resident"
)

// item is a key and its value in one allocation with the entry by which the engine knows them. The
// local tier holds a pointer to the entry. The entry comes last; see its type for the reason.
type item[K comparable, V any] struct {
	key K
	val V
	e   resident.Entry
}

// itemOf returns the item that contains e. Pass only entries of views of the same Tiers and
// space. New makes sure that all caches of a space have the same types. See resident.View.At.
//
// The distance is a constant and costs a hit nothing. A pointer from the entry to its item, or an
// interface in the local tier, costs a hit 6 %.
func itemOf[K comparable, V any](e *resident.Entry) *item[K, V] {
	return (*item[K, V])(unsafe.Add(unsafe.Pointer(e), -int(unsafe.Offsetof(item[K, V]{}.e))))
}

// blank returns a new entry with a key of the view.
func blank[K comparable, V any](v *resident.View, k K) *resident.Entry {
	it := &item[K, V]{key: k}
	it.e.Home = &v.Home
	return &it.e
}
