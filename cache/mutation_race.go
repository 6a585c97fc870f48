//go:build race

package cache

import (
	"encoding"
	"encoding/json"
	"hash/crc32"
	"reflect"
)

// All readers share a value of the local tier. A change of it is a bug that otherwise appears as
// a wrong answer somewhere else. So programs that are built with the race detector compare a
// checksum of the value's JSON on every hit, and panic if it differs. Values that have no JSON,
// or that are nested too deeply, are not checked.

// seal is the checksum of a value at the time when it was cached.
type seal struct{ sum uint64 }

func (it *item[K, V]) putSeal() { it.sum = it.checksum() }

// checkUnchanged panics if the value has another checksum now.
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

// sealDepth limits how deeply a checked value may be nested. encoding/json recurses, and a stack
// overflow ends the process.
const sealDepth = 10_000

// deeper reports whether the parts of v that encoding/json visits are nested deeper than left.
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
