//go:build race

package resident

import (
	"reflect"
)

// All readers share a value of the local tier. A change of it is a bug that otherwise appears as
// a wrong answer somewhere else. So programs that are built with the race detector compare a
// checksum of the value on every hit, and panic if it differs. A value without a checksum is not
// checked.

// seal is the checksum of a value at the time when it was cached.
type seal struct{ sum uint64 }

// PutSeal notes the checksum of the value, in a program built with the race detector.
func (it *Entry) PutSeal() { it.sum = it.checksum() }

// CheckUnchanged panics if the value has another checksum now.
func (it *Entry) CheckUnchanged() {
	if it.sum != 0 && it.checksum() != it.sum {
		panic("cache: a value of namespace " + it.Home.Space.Namespace +
			" was changed after it was cached; copy it, or set Config.Clone")
	}
}

// checksum returns the checksum of the value with a further bit, or 0 if it has none.
func (it *Entry) checksum() uint64 {
	if it.Err != nil {
		return 0
	}
	crc, ok := checksumOf(reflect.ValueOf(it.Home.Owner.Value(it)).Elem())
	if !ok {
		return 0
	}
	return 1<<32 | uint64(crc)
}
