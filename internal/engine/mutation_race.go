//go:build race

package engine

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"reflect"
	"unsafe"
)

// All readers share a value of the local tier. A change of it is a bug that otherwise appears as
// a wrong answer somewhere else. So programs that are built with the race detector compare a
// checksum of the value on every hit, and panic if it differs. The checksum is a CRC-32 of what
// encoding/json would encode. It covers every byte of every hit. So it notices each change of up
// to 32 adjacent bits, and misses any other change with a probability of one in four billion.
//
// A value is not checked if a part of it has no JSON, or if it is nested too deeply.

// seal is the checksum of a value at the time when it was cached.
type seal struct{ sum uint64 }

func (it *Entry) putSeal() { it.sum = it.checksum() }

// checkUnchanged panics if the value has another checksum now.
func (it *Entry) checkUnchanged() {
	if it.sum != 0 && it.checksum() != it.sum {
		panic("cache: a value of namespace " + it.View.Space.Namespace +
			" was changed after it was cached; copy it, or set Config.Clone")
	}
}

func (it *Entry) checksum() uint64 {
	var s sealer
	if it.Err != nil || !s.visit(reflect.ValueOf(it.View.kind.Value(it)).Elem(), sealDepth) {
		return 0
	}
	return 1<<32 | uint64(s.crc)
}

// sealDepth limits how deeply a checked value may be nested. The walk recurses, and a stack overflow
// ends the process.
const sealDepth = 10_000

// sealer makes the checksum of a value.
type sealer struct{ crc uint32 }

func (s *sealer) write(b []byte) { s.crc = crc32.Update(s.crc, crc32.IEEETable, b) }

func (s *sealer) number(n uint64) { s.write(binary.LittleEndian.AppendUint64(nil, n)) }

// visit adds a part of the value. It reports false if the value cannot be checked.
func (s *sealer) visit(v reflect.Value, left int) bool {
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
func (s *sealer) flat(v reflect.Value) bool {
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
func (s *sealer) fields(v reflect.Value, left int) bool {
	for f, field := range v.Fields() {
		if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && !s.visit(field, left-1) {
			return false
		}
	}
	return true
}

// elements adds a slice or an array. Numbers are added as one block, however many there are.
func (s *sealer) elements(v reflect.Value, left int) bool {
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
func (s *sealer) entries(v reflect.Value, left int) bool {
	s.number(uint64(v.Len())) //nolint:gosec // it is not negative
	var sum uint64
	for it := v.MapRange(); it.Next(); {
		var one sealer
		if !one.visit(it.Key(), left-1) || !one.visit(it.Value(), left-1) {
			return false
		}
		sum += uint64(one.crc)
	}
	s.number(sum)
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
