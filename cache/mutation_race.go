//go:build race

package cache

import (
	"encoding/json"
	"hash/crc32"
)

// A value in the local tier is shared by all its readers. One that is changed
// after it was handed over is a bug that otherwise shows as a wrong answer
// somewhere else, so programs built with the race detector compare a checksum
// of its JSON on every hit, and panic. Values that have no JSON are not
// checked.

// seal is what a value looked like when it was cached.
type seal struct{ sum uint64 }

// putSeal notes what the value looks like now.
func (it *item[K, V]) putSeal() { it.sum = it.checksum() }

// checkUnchanged panics when the value no longer looks as it did.
func (it *item[K, V]) checkUnchanged() {
	if it.sum != 0 && it.checksum() != it.sum {
		panic("cache: a value of namespace " + it.view.space.Namespace +
			" was changed after it was cached; copy it, or set Config.Clone")
	}
}

func (it *item[K, V]) checksum() uint64 {
	if it.err != nil {
		return 0
	}
	b, err := json.Marshal(it.val)
	if err != nil {
		return 0
	}
	return 1<<32 | uint64(crc32.ChecksumIEEE(b))
}
