package codec

import (
	"errors"
	"reflect"
	"sync"
)

// The encoder follows a value that contains itself until the stack overflows, which recover
// cannot stop. Therefore Marshal first looks for such values, if the type allows them. It walks
// down as the encoder would, and refuses a value that is deeper than any decodable value.
//
// The walk does not record which values it has seen. That would only save work for shared values,
// and the encoder writes these at every place too. The walk is never slower than the encoder. It
// visits no more values than the encoder would write, and stops at the first path that is too long.

const (
	// cborWalk is more than cborDepth, because the walk also enters fields that omitempty leaves
	// out. readable checks the exact limit.
	cborWalk = 2 * cborDepth

	// cborHops is how many pointers and interfaces may follow one another. They are not levels in
	// CBOR, so a limit on depth would never stop var x any; x = &x.
	cborHops = 1000
)

var errEndless = errors.New("value contains itself or nests too deep")

// cborType is what Marshal needs to know about a type.
type cborType struct {
	jsonOnly reflect.Type
	loops    bool    // a value may contain itself
	keys     bool    // and if it is a map, through its keys
	fields   [][]int // and if it is a struct, through these fields; one index for each embedding
}

// cborTypes keeps one answer for each encoded type until the program ends, as encoding/json does.
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

// loops reports whether values of t may contain themselves. They may if t leads to an interface,
// which can hold anything, or to a type that leads to itself.
func loops(t reflect.Type, known map[reflect.Type]bool) bool {
	if loop, ok := known[t]; ok {
		return loop
	}
	// Meeting a type again during its own check closes a loop.
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

// endless reports whether v has more levels than left. It enters only types that loop.
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

// endlessPair copies each map value to one place, because MapIter.Value allocates. Keys that can
// loop are too rare to do the same.
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
