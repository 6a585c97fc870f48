package key

import (
	"encoding"
	"fmt"
	"reflect"
)

// Of returns an id for k, by its kind: a string as [Text], an integer in decimal, and a bool,
// float, array or struct as [Hash]. A named type is treated like its underlying type. The empty
// string is [ErrEmpty] and any other kind [ErrType]. The other errors are those of Hash.
//
// There is one exception: a UUID, and any other array of bytes with both MarshalText and UnmarshalText,
// is spelled as its text, by [Text]. So is a struct with such an array as its only field. Then the id
// is what a database shows, and triggers can name it: uuid::text in PostgreSQL is in lower case, as
// UUID packages write it. A column of text must have the text of MarshalText. The text must stand for k
// alone: UnmarshalText has to return k, otherwise the error is [ErrType]. Of hashes other types with
// these methods, such as netip.Addr, because they may hold more than their text shows.
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
	// Two conversions: reflection does not make the first escape; ofOther makes the second allocate.
	switch v := reflect.ValueOf(any(k)); v.Kind() {
	case reflect.String:
		return ofString(v.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Int(v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Uint(v.Uint()), nil
	case reflect.Bool, reflect.Float32, reflect.Float64, reflect.Array, reflect.Struct:
		return ofOther(any(k))
	}
	return "", fmt.Errorf("%w: a %T", ErrType, any(k))
}

// Hashes reports whether [Of] hashes keys of type K. Then SQL cannot spell them, and they have no
// prefixes.
func Hashes[K comparable]() bool { return hashes(reflect.TypeFor[K]()) }

func hashes(t reflect.Type) bool { return !isPlainKind(t.Kind()) && !isText(t) }

// isPlainKind reports whether Of spells values of a kind as they are.
func isPlainKind(k reflect.Kind) bool {
	return k == reflect.String || k >= reflect.Int && k <= reflect.Uintptr
}

// isText reports whether Of spells values of t by their methods: t is an array of bytes, perhaps as the only
// field of a struct. Such a value has nothing that == compares and its bytes do not show.
func isText(t reflect.Type) bool {
	return isBytes(t) && t.Implements(textMarshaler) && reflect.PointerTo(t).Implements(textUnmarshaler)
}

func isBytes(t reflect.Type) bool {
	if t.Kind() == reflect.Struct {
		return t.NumField() == 1 && isBytes(t.Field(0).Type)
	}
	return t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8
}

// ofOther spells a key that is neither a string nor an integer. It is not generic, because each cache would
// have a copy.
func ofOther(k any) (string, error) {
	if !isText(reflect.TypeOf(k)) {
		return Hash(k)
	}
	back := reflect.New(reflect.TypeOf(k))
	text, err := k.(encoding.TextMarshaler).MarshalText() //nolint:forcetypeassert // see isText
	if err == nil {
		err = back.Interface().(encoding.TextUnmarshaler).UnmarshalText(text) //nolint:forcetypeassert // see isText
	}
	if err == nil && back.Elem().Interface() != k {
		err = ErrType
	}
	if err != nil { // its text may quote the value
		return "", &opaque{typeError(ErrType, k).Error() + ": UnmarshalText does not return the value from the text of MarshalText", ErrType, err}
	}
	return ofString(string(text))
}

func ofString(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("%w: id", ErrEmpty)
	}
	return Text(s), nil
}
