//go:build race

package resident

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"reflect"
	"unsafe"
)

// checksumOf returns a CRC-32 of what encoding/json would encode of v. It covers every byte. So another
// checksum shows each change of up to 32 adjacent bits, and misses any other change with a
// probability of one in four billion. It reports false if a part of v has no JSON, or if v is nested
// too deeply.
func checksumOf(v reflect.Value) (crc uint32, ok bool) {
	var s sum
	ok = s.visit(v, depth)
	return s.crc, ok
}

// depth limits how deeply a value may be nested. The walk recurses, and a stack overflow ends the
// process.
const depth = 10_000

// sum makes the checksum of a value.
type sum struct{ crc uint32 }

func (s *sum) write(b []byte) { s.crc = crc32.Update(s.crc, crc32.IEEETable, b) }

func (s *sum) number(n uint64) { s.write(binary.LittleEndian.AppendUint64(nil, n)) }

// visit adds a part of the value. It reports false if the value cannot be checked.
func (s *sum) visit(v reflect.Value, left int) bool {
	if left == 0 {
		return false
	}
	if v.IsValid() && encodesItself(v.Type()) && v.CanInterface() {
		if v.CanAddr() {
			v = v.Addr() // for methods of the pointer
		}
		b, err := json.Marshal(v.Interface())
		s.write(b)
		return err == nil
	}
	switch v.Kind() {
	case reflect.Invalid:
		s.number(0)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			s.number(0)
			return true
		}
		s.number(1)
		return s.visit(v.Elem(), left-1)
	case reflect.Struct:
		return s.fields(v, left)
	case reflect.Slice, reflect.Array:
		return s.elements(v, left)
	case reflect.Map:
		return s.entries(v, left)
	case reflect.String:
		s.number(uint64(v.Len()))
		s.write(unsafe.Slice(unsafe.StringData(v.String()), v.Len()))
	default:
		return s.flat(v)
	}
	return true
}

// flat adds a number or a bool.
func (s *sum) flat(v reflect.Value) bool {
	switch {
	case v.CanInt():
		s.number(uint64(v.Int())) //nolint:gosec // only the bits matter
	case v.CanUint():
		s.number(v.Uint())
	case v.CanFloat():
		s.number(math.Float64bits(v.Float()))
	case v.Kind() == reflect.Bool && v.Bool():
		s.number(1)
	case v.Kind() == reflect.Bool:
		s.number(0)
	default:
		return false // it has no JSON
	}
	return true
}

// fields adds the fields that encoding/json encodes.
func (s *sum) fields(v reflect.Value, left int) bool {
	for f, field := range v.Fields() {
		if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && !s.visit(field, left-1) {
			return false
		}
	}
	return true
}

// elements adds a slice or an array. Numbers are added as one block, however many there are.
func (s *sum) elements(v reflect.Value, left int) bool {
	n := v.Len()
	s.number(uint64(n)) //nolint:gosec // it is not negative
	elem := v.Type().Elem()
	if n > 0 && isNumber(elem.Kind()) && !encodesItself(elem) && v.Index(0).CanAddr() {
		first := v.Index(0).Addr().UnsafePointer()
		s.write(unsafe.Slice((*byte)(first), uintptr(n)*elem.Size()))
		return true
	}
	for i := range n {
		if !s.visit(v.Index(i), left-1) {
			return false
		}
	}
	return true
}

// entries adds a map. Its order does not matter.
func (s *sum) entries(v reflect.Value, left int) bool {
	s.number(uint64(v.Len())) //nolint:gosec // it is not negative
	var all uint64
	for it := v.MapRange(); it.Next(); {
		var one sum
		if !one.visit(it.Key(), left-1) || !one.visit(it.Value(), left-1) {
			return false
		}
		all += uint64(one.crc)
	}
	s.number(all)
	return true
}

func isNumber(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr
}

// encodesItself reports whether the type, or a pointer to it, makes its own JSON or text.
func encodesItself(t reflect.Type) bool {
	for _, own := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(own) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}
