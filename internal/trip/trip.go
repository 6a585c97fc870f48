// Package trip finds differences between a value and its copy after a round trip through a codec.
package trip

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"sync/atomic"
	"unsafe"
)

var asked atomic.Bool

// Ask switches a check on or off for every cache of this process: the cache compares the first
// values with their copies from the codec, as programs built with the race detector do. It is meant
// for test kits.
func Ask(on bool) { asked.Store(on) }

// Asked reports whether Ask(true) was called.
func Asked() bool { return asked.Load() }

// maxDepth is how deep values are compared.
const maxDepth = 1000

// Diff returns the path of the first difference between the values of two pointers of one type,
// such as "User.Names[]", or "" if they are equal. Nil and empty are equal. A type with a method
// Equal decides for itself. Fields that the tag "-" excludes from an encoding do not count. Diff
// ignores what lies deeper than a thousand levels.
func Diff(a, b any) string {
	v := reflect.ValueOf(a).Elem()
	name := v.Type().Name()
	if name == "" {
		name = "value"
	}
	return diff(v, reflect.ValueOf(b).Elem(), name, maxDepth)
}

// diff compares addressable values.
func diff(a, b reflect.Value, path string, left int) string {
	if left == 0 || nothing(a) && nothing(b) {
		return ""
	}
	if same, known := ownEqual(a, b); known {
		return unless(same, path)
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return path
		}
		return diff(a.Elem(), b.Elem(), path, left-1)
	case reflect.Interface:
		if a.IsNil() || b.IsNil() || a.Elem().Type() != b.Elem().Type() {
			return path
		}
		return diff(placed(a.Elem()), placed(b.Elem()), path, left-1)
	case reflect.Slice, reflect.Array:
		return diffList(a, b, path, left)
	case reflect.Map:
		return diffMap(a, b, path, left)
	case reflect.Struct:
		return diffStruct(a, b, path, left)
	case reflect.Float32, reflect.Float64:
		return unless(a.Float() == b.Float() || math.IsNaN(a.Float()) && math.IsNaN(b.Float()), path)
	case reflect.Func:
		return path // the check of nothing came first
	}
	return unless(a.Equal(b), path)
}

func unless(same bool, path string) string {
	if same {
		return ""
	}
	return path
}

// nothing reports whether v is nil, empty, or a pointer to such a value.
func nothing(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || v.Elem().Kind() != reflect.Struct && nothing(v.Elem())
	case reflect.Interface, reflect.Func, reflect.Chan:
		return v.IsNil()
	case reflect.Slice, reflect.Map:
		return v.Len() == 0 || v.Type() == rawMessage && v.Len() == len("null") && v.Index(0).Uint() == 'n'
	}
	return false
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// ownEqual calls the type's own method Equal. It compares json.RawMessage without white space.
func ownEqual(a, b reflect.Value) (same, known bool) {
	if a.Kind() == reflect.Pointer || a.Kind() == reflect.Interface {
		return false, false
	}
	if a.Type() == rawMessage {
		var x, y bytes.Buffer
		return json.Compact(&x, a.Bytes()) == nil && json.Compact(&y, b.Bytes()) == nil && bytes.Equal(x.Bytes(), y.Bytes()), true
	}
	m := a.MethodByName("Equal")
	if !m.IsValid() || m.Type().NumIn() != 1 || m.Type().In(0) != a.Type() || m.Type().NumOut() != 1 || m.Type().Out(0).Kind() != reflect.Bool {
		return false, false
	}
	return m.Call([]reflect.Value{b})[0].Bool(), true
}

// placed returns an addressable copy of v, because diff reads its fields.
func placed(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type()).Elem()
	p.Set(v)
	return p
}

func diffList(a, b reflect.Value, path string, left int) string {
	if a.Len() != b.Len() {
		return path
	}
	for i := range a.Len() {
		if d := diff(a.Index(i), b.Index(i), path+"[]", left-1); d != "" {
			return d
		}
	}
	return ""
}

func diffMap(a, b reflect.Value, path string, left int) string {
	if a.Len() != b.Len() {
		return path
	}
	for it := a.MapRange(); it.Next(); {
		other := b.MapIndex(it.Key())
		if !other.IsValid() {
			return path + "[key]"
		}
		if d := diff(placed(it.Value()), placed(other), path+"[]", left-1); d != "" {
			return d
		}
	}
	return ""
}

func diffStruct(a, b reflect.Value, path string, left int) string {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if f.Name == "_" || f.Type.Size() == 0 || f.Tag.Get("json") == "-" || f.Tag.Get("cbor") == "-" {
			continue
		}
		if d := diff(open(a.Field(i)), open(b.Field(i)), path+"."+f.Name, left-1); d != "" {
			return d
		}
	}
	return ""
}

// open returns a field as if it were exported, because its methods may be called.
func open(f reflect.Value) reflect.Value {
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem() //nolint:gosec // it is only read
}
