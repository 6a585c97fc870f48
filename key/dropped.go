package key

import (
	"reflect"
	"sync"
)

// checkDropped returns an error if v's JSON leaves out a field that may differ. [CheckType] does
// the same, and more, for the types of keys. Hash takes any type, so the check here enters
// pointers, slices and maps, and the dynamic types of interfaces. Hash has made v's JSON before:
// a value that contains itself never comes here.
func checkDropped(v any) error {
	if v == nil {
		return nil
	}
	return checkValue(reflect.ValueOf(v))
}

// checkValue checks the type of v, and the types that only its interfaces know.
func checkValue(v reflect.Value) error {
	f := formOf(reached{v.Type(), v.CanAddr()})
	if f.err != nil || !f.dynamic {
		return f.err
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkValue(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkValue(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := checkValue(it.Value()); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if err := checkValue(field); err != nil {
				return err
			}
		}
	}
	return nil
}

// form is what checkDropped knows about a type.
type form struct {
	err     error
	dynamic bool // an interface is in it
}

var forms sync.Map // reached to form; a program has few types

func formOf(r reached) form {
	if f, ok := forms.Load(r); ok {
		return f.(form) //nolint:forcetypeassert // nothing else is stored
	}
	w := walker{seen: make(map[reached]bool)}
	w.value(r.t, r.t.String(), r.addr)
	f := form{dynamic: w.dynamic}
	if len(w.errs) > 0 {
		f.err = w.errs[0]
	}
	forms.Store(r, f)
	return f
}
