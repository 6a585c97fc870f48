package cache

import (
	"github.com/twofold-go/twofold/internal/resident"
)

// hit returns the item of k if the fast path can serve its entry; see resident.View.Hit.
func (c Cache[K, V]) hit(at uint64, k K, now int64) (it *item[K, V], lease int64, n resident.Note) {
	e := c.v.At(at)
	if e == nil {
		return nil, 0, 0
	}
	if it = itemOf[K, V](e); it.key != k {
		return nil, 0, 0
	}
	lease, n, ok := c.v.Hit(e, now)
	if !ok {
		return nil, 0, n
	}
	return it, lease, n
}
