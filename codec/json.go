package codec

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"
)

// JSON is encoding/json, id "json". As there, field names match in any letter case.
//
// Decoding refuses data after the value. In an any, numbers are decoded as float64, so integers
// beyond ±2⁵³ lose digits. Therefore its Check refuses an any. Use a concrete type, or a
// json.RawMessage, which keeps every digit. A value that encoding/json decoded has only float64 in
// it, so [Lossy] is safe for it.
//
// Encoding refuses, with [ErrValue], a string that is not UTF-8. encoding/json would replace its
// bytes with U+FFFD, and a reader would get another value. Decoding refuses nesting deeper than
// 10,000, and encoding does not.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) ID() string { return "json" }

func (c jsonCodec) Marshal(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		is := ErrValue
		if _, ok := errors.AsType[*json.UnsupportedTypeError](err); ok {
			is = ErrType
		}
		return nil, marshalError(is, c.ID(), v, err)
	}
	// encoding/json writes a replaced byte as this escape. A json.RawMessage may contain it
	// legitimately, so look again, slowly.
	if bytes.Contains(data, []byte("ufffd")) && replaced(reflect.ValueOf(v), deepest) {
		return nil, marshalError(ErrValue, c.ID(), v, errUTF8)
	}
	return data, nil
}

func (c jsonCodec) Unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	is := ErrCorrupt
	if _, ok := errors.AsType[*json.InvalidUnmarshalError](err); ok {
		is = ErrType
	}
	return unmarshalError(is, c.ID(), data, v, err)
}

// deepest is how many levels of a value replaced looks at.
const deepest = 10_000

var errUTF8 = errors.New("string is not UTF-8")

// replaced reports whether encoding/json replaced bytes of a string in v. json.Marshal has already
// refused cycles; left ends a cycle through a field that it leaves out.
func replaced(v reflect.Value, left int) bool {
	if left == 0 {
		return false
	}
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return false
		}
	}
	if bad, known := replacedByMarshaler(v); known {
		return bad
	}
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return replaced(v.Elem(), left-1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if replaced(v.Index(i), left-1) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if replacedKey(it.Key()) || replaced(it.Value(), left-1) {
				return true
			}
		}
	case reflect.Struct:
		for f, field := range v.Fields() {
			if (f.IsExported() || f.Anonymous) && jsonTag(f.Tag) != "-" && replaced(field, left-1) {
				return true
			}
		}
	}
	return false
}

// replacedKey is replaced for the key of a map. A string is never asked for its text.
func replacedKey(k reflect.Value) bool {
	if k.Kind() == reflect.String {
		return !utf8.ValidString(k.String())
	}
	return replaced(k, deepest)
}

// replacedByMarshaler answers for values that marshal themselves. encoding/json does not change
// their JSON, and replaces bytes of their text as in any string.
func replacedByMarshaler(v reflect.Value) (bad, known bool) {
	if v.Kind() != reflect.Pointer && v.CanAddr() {
		v = v.Addr()
	}
	if !v.CanInterface() {
		return false, false
	}
	switch m := v.Interface().(type) {
	case json.Marshaler:
		return false, true
	case encoding.TextMarshaler:
		text, err := m.MarshalText()
		return err == nil && !utf8.Valid(text), true
	}
	return false, false
}
