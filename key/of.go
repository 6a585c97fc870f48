package key

import (
	"fmt"
	"reflect"
)

// Of returns an id for k, by its kind: a string as [Text], an integer in decimal, and a bool,
// float, array or struct as [Hash]. A named type is treated like its underlying type. The empty
// string is [ErrEmpty] and any other kind [ErrType]. The other errors are those of Hash.
//
// Of does not check whether different values of K get different ids. Call [CheckType] once, where
// a cache of K is made. An int 42 and a string "42" have the same id, so use only one K in a
// namespace.
func Of[K comparable](k K) (string, error) {
	switch v := any(k).(type) {
	case string:
		return ofString(v)
	case int:
		return Int(int64(v)), nil
	case int64:
		return Int(v), nil
	case int32:
		return Int(int64(v)), nil
	case uint64:
		return Uint(v), nil
	case uint32:
		return Uint(uint64(v)), nil
	}
	// Two conversions: reflection does not make the first escape; Hash makes the second allocate.
	switch v := reflect.ValueOf(any(k)); v.Kind() {
	case reflect.String:
		return ofString(v.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Int(v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Uint(v.Uint()), nil
	case reflect.Bool, reflect.Float32, reflect.Float64, reflect.Array, reflect.Struct:
		return Hash(any(k))
	}
	return "", fmt.Errorf("%w: a %T", ErrType, any(k))
}

func ofString(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("%w: id", ErrEmpty)
	}
	return Text(s), nil
}
