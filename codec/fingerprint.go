package codec

import (
	"reflect"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Fingerprint returns a hash of the encoded form of t, for the header of a cell. With it a reader
// detects a value that another version of a program wrote with other fields, before decoding it
// into the wrong type. The same source gives the same fingerprint in every process and build.
//
// It is the XXH64 of a description of t: kinds; the exported fields of a struct in order, each
// with its name and its json and cbor tags; elements, keys and lengths. Names of types are left
// out, so a type can be renamed or moved.
//
// The description of a type that marshals itself (as JSON, CBOR, text or binary) is its package
// path and name. Its fields do not determine its encoding. If that encoding changes, the type needs
// a new name, or the cache a new namespace.
//
// A nil t, the type of a nil any, has its own fingerprint. Each call computes the fingerprint
// again; a cache calls once for each type.
func Fingerprint(t reflect.Type) uint64 {
	d := describer{seen: make(map[reflect.Type]int)}
	d.describe(t)
	return xxhash.Sum64(d.text)
}

// marshalers are the interfaces by which a type can encode itself.
var marshalers = append([]reflect.Type{jsonMarshaler}, cborMarshalers...)

// describer writes a description of a type. seen numbers the named composite types in order of
// first appearance. A repeated type is written as its number, which ends recursion and keeps the
// description short.
type describer struct {
	text []byte
	seen map[reflect.Type]int
}

func (d *describer) write(s string) { d.text = append(d.text, s...) }

func (d *describer) describe(t reflect.Type) {
	if t == nil {
		d.write("nil")
		return
	}
	if t.Name() != "" && t.PkgPath() != "" {
		if implementsAny(t, marshalers) {
			d.write("m:" + t.PkgPath() + "." + t.Name())
			return
		}
		if n, again := d.seen[t]; again {
			d.write("#" + strconv.Itoa(n))
			return
		}
		if isComposite(t.Kind()) {
			d.seen[t] = len(d.seen)
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		d.write("*")
		d.describe(t.Elem())
	case reflect.Slice:
		d.write("[]")
		d.describe(t.Elem())
	case reflect.Array:
		d.write("[" + strconv.Itoa(t.Len()) + "]")
		d.describe(t.Elem())
	case reflect.Map:
		d.write("map[")
		d.describe(t.Key())
		d.write("]")
		d.describe(t.Elem())
	case reflect.Struct:
		d.fields(t)
	default:
		d.write(t.Kind().String())
	}
}

func (d *describer) fields(t reflect.Type) {
	d.write("{")
	for f := range t.Fields() {
		jsonTag, cborTag := f.Tag.Get("json"), f.Tag.Get("cbor")
		switch {
		case f.Name == "_" && cborTag != "": // ",toarray" changes the whole struct
		case !f.IsExported() && !f.Anonymous:
			continue
		case jsonTag == "-" && (cborTag == "-" || cborTag == ""):
			continue // in no encoding
		}
		if f.Anonymous {
			d.write("~")
			if structOf(f.Type).Kind() == reflect.Struct {
				f.Name = "" // the type's name; its fields or its tag are written instead
			}
		}
		// Quoted, because a tag may contain any character.
		d.write(f.Name + " " + strconv.Quote(jsonTag) + " " + strconv.Quote(cborTag) + " ")
		d.describe(f.Type)
		d.write(";")
	}
	d.write("}")
}

func isComposite(k reflect.Kind) bool {
	switch k {
	case reflect.Array, reflect.Map, reflect.Pointer, reflect.Slice, reflect.Struct:
		return true
	}
	return false
}
