package resident

import "reflect"

// How many bytes of memory a Go value takes is estimated, because the local tier has a budget in bytes.
// An estimate looks at the value itself and one level behind it.

// sizeOf returns a function that estimates the bytes of a value of type t: the value's own size, the
// texts of its strings, the arrays of its slices and the entries of its maps. If the value is a pointer or an
// interface, what it holds counts the same way. Nothing else behind a pointer counts, and neither
// does what elements and entries point to. The function gets a pointer to the value, not nil. It
// only reads, does not allocate and is safe for concurrent use.
func sizeOf(t reflect.Type) func(ptr any) int64 {
	size := int64(t.Size())
	if !refers(t) {
		return func(any) int64 { return size }
	}
	return func(ptr any) int64 {
		v := reflect.ValueOf(ptr).Elem()
		if k := v.Kind(); k != reflect.Pointer && k != reflect.Interface {
			return size + behind(v)
		}
		if v.IsNil() {
			return size
		}
		v = v.Elem()
		return size + int64(v.Type().Size()) + behind(v)
	}
}

// behind returns the bytes that the parts of v hold outside of v.
func behind(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Slice:
		return int64(v.Cap()) * int64(v.Type().Elem().Size())
	case reflect.Map:
		return int64(v.Len()) * int64(v.Type().Key().Size()+v.Type().Elem().Size())
	case reflect.Struct:
		for i := range v.NumField() { //nolint:modernize // Fields allocates
			n += behind(v.Field(i))
		}
	case reflect.Array:
		for i := 0; i < v.Len() && refers(v.Type().Elem()); i++ {
			n += behind(v.Index(i))
		}
	}
	return n
}

// refers reports whether values of t have a part outside of themselves.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		return true
	case reflect.Array:
		return refers(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if refers(f.Type) {
				return true
			}
		}
	}
	return false
}
