// Package encodable finds types of which a codec can encode no value, before
// there is one.
package encodable

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/twofold-go/twofold/codec"
)

// Check returns an error when c cannot encode t. It names the field that is at
// fault, if there is one. It tries an example, and believes only
// [codec.ErrType]: any other failure may be one of the example.
func Check(c codec.Codec, t reflect.Type) error {
	if !refuses(c, example(t, 8)) {
		return nil
	}
	if path, bad := field(c, t); bad != nil {
		return fmt.Errorf("codec %q cannot encode %v: field %s is a %v", c.ID(), t, path, bad)
	}
	return fmt.Errorf("codec %q cannot encode %v", c.ID(), t)
}

// refuses reports whether c never encodes what v is an example of. A nil interface
// is an example of nothing. A panic is one of a method of v.
func refuses(c codec.Codec, v reflect.Value) (never bool) {
	defer func() {
		if recover() != nil {
			never = false
		}
	}()
	if v.Kind() == reflect.Interface {
		return false
	}
	_, err := c.Marshal(v.Interface())
	return errors.Is(err, codec.ErrType)
}

// example returns a zero value, or a pointer, slice or map that holds one: nil
// would hide what it leads to. It goes levels deep.
func example(t reflect.Type, levels int) reflect.Value {
	v := reflect.New(t).Elem()
	if levels == 0 {
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()).Convert(t))
		v.Elem().Set(example(t.Elem(), levels-1))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		v.Index(0).Set(example(t.Elem(), levels-1))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.Zero(t.Key()), example(t.Elem(), levels-1))
	}
	return v
}

// field returns the first field within t that c refuses by itself, and its type;
// nil when there is none, or c refuses every struct.
func field(c codec.Codec, t reflect.Type) (path string, bad reflect.Type) {
	for range 8 {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		}
	}
	if t.Kind() != reflect.Struct || refuses(c, reflect.ValueOf(struct{}{})) {
		return "", nil
	}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		if !f.IsExported() && !f.Anonymous || tag == "-" || strings.Contains(tag, "omitzero") || f.Tag.Get("cbor") == "-" {
			continue
		}
		if !refuses(c, reflect.Zero(f.Type)) {
			continue
		}
		if inner, bad := field(c, f.Type); bad != nil {
			return f.Name + "." + inner, bad
		}
		return f.Name, f.Type
	}
	return "", nil
}
