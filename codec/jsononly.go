package codec

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// cborMarshalers are the interfaces by which a type encodes itself for CBOR.
var cborMarshalers = []reflect.Type{
	reflect.TypeFor[cbor.Marshaler](),
	reflect.TypeFor[encoding.BinaryMarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](),
}

var jsonMarshaler = reflect.TypeFor[json.Marshaler]()

// jsonOnly returns a type within t whose fields CBOR would lose silently: a struct with
// unexported fields that marshals itself only as JSON. It returns nil if there is none.
func jsonOnly(t reflect.Type) reflect.Type { return findJSONOnly(t, make(map[reflect.Type]bool)) }

func findJSONOnly(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] || implementsAny(t, cborMarshalers) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Array, reflect.Pointer, reflect.Slice:
		return findJSONOnly(t.Elem(), seen)
	case reflect.Map:
		if bad := findJSONOnly(t.Key(), seen); bad != nil {
			return bad
		}
		return findJSONOnly(t.Elem(), seen)
	case reflect.Struct:
		if implementsAny(t, []reflect.Type{jsonMarshaler}) && hasUnexported(t) {
			return t
		}
		for f := range t.Fields() {
			if !f.IsExported() && !f.Anonymous || cborTag(f.Tag) == "-" {
				continue
			}
			if bad := findJSONOnly(f.Type, seen); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func hasUnexported(t reflect.Type) bool {
	for f := range t.Fields() {
		if !f.IsExported() && !f.Anonymous && f.Name != "_" {
			return true
		}
	}
	return false
}

// implementsAny reports whether t or *t implements one of the interfaces.
func implementsAny(t reflect.Type, interfaces []reflect.Type) bool {
	for _, i := range interfaces {
		if t.Implements(i) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return false
}

// structOf returns the type that t points to, or t if it is not a pointer.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
