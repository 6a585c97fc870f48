package codec

import (
	"errors"
	"reflect"
	"sync"
)

// The encoder follows a value that contains itself until the stack is full,
// which no recover stops. So such values are looked for first, where the type
// allows them, by walking down as the encoder would: what is deeper than any
// value that can be read back is refused, whether or not it ever ends.
//
// No record of the values already met is kept. It would save work where a value
// is shared, and there the encoder writes it out at every place it is found: the
// walk visits no more values than the encoder would write, and stops at the
// first path that is too long. So it is never the slower of the two.

const (
	// cborWalk is more than cborDepth because the walk also enters what
	// omitempty leaves out. The exact limit is for readable to check.
	cborWalk = 2 * cborDepth

	// cborHops is how many pointers and interfaces may follow one another.
	// They are not levels in CBOR, so that depth alone would never stop
	// var x any; x = &x.
	cborHops = 1000
)

var errEndless = errors.New("value contains itself or nests too deep")

// cborType is what Marshal has to know of a type beforehand.
type cborType struct {
	jsonOnly reflect.Type
	loops    bool    // a value may contain itself
	keys     bool    // and if a map, by way of its keys
	fields   [][]int // where in a struct, as indices for each embedded struct on the way
}

// cborTypes keeps one answer per type that is ever encoded, for as long as the
// program runs, as encoding/json keeps its own.
var cborTypes sync.Map // reflect.Type → *cborType

func cborTypeOf(t reflect.Type) *cborType {
	if found, ok := cborTypes.Load(t); ok {
		return found.(*cborType)
	}
	known := make(map[reflect.Type]bool)
	c := &cborType{jsonOnly: jsonOnly(t), loops: loops(t, known)}
	switch {
	case !c.loops: // the parts do not matter
	case t.Kind() == reflect.Map:
		c.keys = loops(t.Key(), known)
	case t.Kind() == reflect.Struct:
		for _, f := range fieldsOf(t, cborTags) {
			if loops(f.Type, known) {
				c.fields = append(c.fields, f.Index)
			}
		}
	}
	cborTypes.Store(t, c)
	return c
}

// loops reports whether values of t may contain themselves: whether t leads to
// an interface, which can hold anything, or to a type that leads to itself.
func loops(t reflect.Type, known map[reflect.Type]bool) bool {
	if loop, ok := known[t]; ok {
		return loop
	}
	// A type met again while it is being looked into has closed a loop.
	known[t] = true
	known[t] = !implementsAny(t, cborMarshalers) && partLoops(t, known)
	return known[t]
}

func partLoops(t reflect.Type, known map[reflect.Type]bool) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Array, reflect.Pointer, reflect.Slice:
		return loops(t.Elem(), known)
	case reflect.Map:
		return loops(t.Key(), known) || loops(t.Elem(), known)
	case reflect.Struct:
		for _, f := range fieldsOf(t, cborTags) {
			if loops(f.Type, known) {
				return true
			}
		}
	}
	return false
}

// endless reports whether v has more levels than left. It enters only types
// that loop: the others end by themselves.
func endless(v reflect.Value, left int) bool {
	for hops := 0; v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface; hops++ {
		if hops == cborHops {
			return true
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.Struct:
	default:
		return false
	}
	t := cborTypeOf(v.Type())
	return t.loops && (left == 0 || endlessPart(v, t, left-1))
}

func endlessPart(v reflect.Value, t *cborType, left int) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			if endless(v.Index(i), left) {
				return true
			}
		}
	case reflect.Map:
		return endlessPair(v, t.keys, left)
	case reflect.Struct:
		for _, index := range t.fields {
			if endless(fieldAt(v, index), left) {
				return true
			}
		}
	}
	return false
}

// endlessPair copies values to one place, since MapIter.Value allocates for
// each. Keys that can hold anything are too rare for that care.
func endlessPair(m reflect.Value, keys bool, left int) bool {
	if m.Len() == 0 {
		return false
	}
	value := reflect.New(m.Type().Elem()).Elem()
	for it := m.MapRange(); it.Next(); {
		if keys && endless(it.Key(), left) {
			return true
		}
		value.SetIterValue(it)
		if endless(value, left) {
			return true
		}
	}
	return false
}
