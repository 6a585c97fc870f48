package sizeof

import "reflect"

// For is [Of] for the type V.
func For[V any]() func(*V) int64 {
	size := Of(reflect.TypeFor[V]())
	return func(v *V) int64 {
		if v == nil {
			return 0
		}
		return size(v)
	}
}
