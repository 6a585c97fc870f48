//go:build race

package cache

import (
	"encoding"
	"encoding/json"
	"hash/crc32"
	"reflect"
)

// A value in the local tier is shared by all its readers. One that is changed
// after it was handed over is a bug that otherwise shows as a wrong answer
// somewhere else, so programs built with the race detector compare a checksum
// of its JSON on every hit, and panic. Values that have no JSON, or that are
// nested too deep, are not checked.

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
	if it.err != nil || deeper(reflect.ValueOf(&it.val), sealDepth) {
		return 0
	}
	b, err := json.Marshal(it.val)
	if err != nil {
		return 0
	}
	return 1<<32 | uint64(crc32.ChecksumIEEE(b))
}

// sealDepth is how deep a checked value may be nested. encoding/json recurses, and a
// stack that overflows ends the process.
const sealDepth = 10_000

// deeper reports whether what encoding/json visits of v is nested deeper than left.
func deeper(v reflect.Value, left int) bool {
	if left == 0 || !v.IsValid() {
		return left == 0
	}
	if t := v.Type(); t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return deeper(v.Elem(), left-1)
	case reflect.Struct:
		for f, field := range v.Fields() {
			if (f.IsExported() || f.Anonymous) && deeper(field, left-1) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if deeper(v.Index(i), left-1) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if deeper(it.Value(), left-1) {
				return true
			}
		}
	}
	return false
}
