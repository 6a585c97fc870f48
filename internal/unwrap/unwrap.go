// Package unwrap finds the optional methods of tiers and logs, also through wrappers.
//
// A wrapper that embeds an interface has only the methods of that interface. It hides the optional
// ones of what it wraps, and nothing fails. Therefore a wrapper may have a method Unwrap, as errors
// do. Unwrap gives access to what describes the inner tier or log, such as its name, but never to
// operations, because those must pass through the wrapper.
package unwrap

import "reflect"

// As returns x as a T. If x is not a T, it asks what x unwraps to. I is the interface that wrappers
// of this kind wrap: tier.Remote, tier.Local or invalidate.Log.
func As[T, I any](x I) (found T, ok bool) {
	for {
		if found, ok = any(x).(T); ok {
			return found, true
		}
		w, wraps := any(x).(interface{ Unwrap() I })
		if !wraps {
			return found, false
		}
		x = w.Unwrap()
	}
}

// Hides reports whether a field of x holds an I that is a T, although x is not.
func Hides[T, I any](x I) bool {
	_, is := any(x).(T)
	return !is && hides(reflect.ValueOf(x), reflect.TypeFor[T](), reflect.TypeFor[I](), 0)
}

// Wraps reports whether a field of x holds an I. If that field is embedded, the methods of what it
// holds look like those of x.
func Wraps[I any](x I) bool {
	inner := reflect.TypeFor[I]()
	return hides(reflect.ValueOf(x), inner, inner, 0)
}

// maxDepth is how many wrappers of wrappers are searched. One may contain itself.
const maxDepth = 8

func hides(x reflect.Value, want, inner reflect.Type, depth int) bool {
	if x.Kind() == reflect.Pointer {
		x = x.Elem()
	}
	if x.Kind() != reflect.Struct || depth == maxDepth {
		return false
	}
	for _, f := range x.Fields() {
		if f.Kind() == reflect.Interface {
			f = f.Elem()
		}
		if f.IsValid() && f.Type().Implements(inner) && (f.Type().Implements(want) || hides(f, want, inner, depth+1)) {
			return true
		}
	}
	return false
}

// IsNil reports whether x is a nil pointer, map, function or the like in an interface. The nil
// interface is not.
func IsNil(x any) bool {
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice:
		return v.IsNil()
	}
	return false
}
