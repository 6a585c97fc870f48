package codec

import (
	"reflect"
	"slices"
)

// Raw writes []byte, string and types defined from them as they are, id "raw". Any other type is
// [ErrType].
//
// It copies in both directions, so a value never aliases a network buffer, and a cell never
// aliases the caller's slice. Only UnmarshalOwned keeps the data (see [Owner]). A nil slice comes
// back empty.
var Raw Codec = rawCodec{}

var _ Owner = rawCodec{}

type rawCodec struct{}

func (rawCodec) ID() string { return "raw" }

func (c rawCodec) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case []byte:
		return append(make([]byte, 0, len(v)), v...), nil
	case string:
		return []byte(v), nil
	case *[]byte:
		if v != nil {
			return c.Marshal(*v)
		}
	case *string:
		if v != nil {
			return c.Marshal(*v)
		}
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer {
		rv = rv.Elem()
	}
	switch {
	case rv.Kind() == reflect.String:
		return []byte(rv.String()), nil
	case isBytes(rv):
		return append(make([]byte, 0, rv.Len()), rv.Bytes()...), nil
	}
	return nil, marshalError(ErrType, c.ID(), v, nil)
}

func (c rawCodec) Unmarshal(data []byte, v any) error {
	switch v := v.(type) {
	case *[]byte:
		if v != nil {
			*v = append(make([]byte, 0, len(data)), data...)
			return nil
		}
	case *string:
		if v != nil {
			*v = string(data)
			return nil
		}
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && !rv.IsNil() {
		switch rv = rv.Elem(); {
		case rv.Kind() == reflect.String:
			rv.SetString(string(data))
			return nil
		case isBytes(rv):
			rv.SetBytes(append(make([]byte, 0, len(data)), data...))
			return nil
		}
	}
	return unmarshalError(ErrType, c.ID(), data, v, nil)
}

// UnmarshalOwned makes data itself the []byte, without capacity to append. It copies data for
// other types.
func (c rawCodec) UnmarshalOwned(data []byte, v any) error {
	if v, ok := v.(*[]byte); ok && v != nil && data != nil {
		*v = slices.Clip(data)
		return nil
	}
	return c.Unmarshal(data, v)
}

func isBytes(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8
}
