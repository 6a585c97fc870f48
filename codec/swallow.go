package codec

import (
	"bytes"
	"reflect"
)

// A struct inherits the marshal methods of an embedded type, unless it has its own. Inherited
// methods do not see the other fields.

// swallowed returns the name of a field that t's encoding lacks, if that is the encoding of an
// embedded field. Otherwise it returns "". It tries an example.
func (c *checking) swallowed(t reflect.Type) (name string) {
	if t.Kind() != reflect.Struct || t.NumField() < 2 {
		return ""
	}
	defer func() {
		if recover() != nil { // the method failed on the example
			name = ""
		}
	}()
	outer, embedded := reflect.New(t), c.embedded(t)
	if embedded < 0 {
		return ""
	}
	inner := reflect.New(t.Field(embedded).Type)
	for _, v := range []reflect.Value{inner.Elem(), outer.Elem().Field(embedded)} {
		if v.Kind() == reflect.Pointer && v.CanSet() {
			fill(v)
		}
	}
	plain, err := c.codec.Marshal(outer.Interface())
	if err != nil {
		return ""
	}
	tried := false
	for i := range t.NumField() {
		f := t.Field(i)
		if i == embedded || f.Name == "_" || c.tags.of(f.Tag) == "-" || f.Type.Size() == 0 {
			continue
		}
		name = f.Name
		if f.IsExported() && fill(outer.Elem().Field(i)) {
			tried = true
			if with, err := c.codec.Marshal(outer.Interface()); err != nil || !bytes.Equal(with, plain) {
				return ""
			}
		}
	}
	if tried {
		return name
	}
	// The other fields cannot be set. If t has its own encoding, it differs from that of the
	// field.
	if alone, err := c.codec.Marshal(inner.Interface()); err != nil || !bytes.Equal(plain, alone) {
		return ""
	}
	return name
}

// embedded returns the last embedded field of t that marshals itself, or -1.
func (c *checking) embedded(t reflect.Type) int {
	found := -1
	for i := range t.NumField() {
		f := t.Field(i)
		for _, way := range c.own {
			if f.Anonymous && f.Type.Kind() != reflect.Interface && implementsAny(f.Type, []reflect.Type{way.encoder}) {
				found = i
			}
		}
	}
	return found
}

// fill sets v to a value other than zero, if it can. A pointer gets something to point to.
func fill(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()).Convert(v.Type()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() && fill(f) {
				return true
			}
		}
		return false
	default:
		switch {
		case v.CanInt():
			v.SetInt(1)
		case v.CanUint():
			v.SetUint(1)
		case v.CanFloat():
			v.SetFloat(1)
		default:
			return false
		}
	}
	return true
}
