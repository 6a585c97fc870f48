package key

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
	d := dropping{seen: make(map[reached]bool)}
	d.value(r.t, r.t.String(), r.addr)
	forms.Store(r, d.form)
	return d.form
}

// dropping walks a type, and keeps the first fault.
type dropping struct {
	seen map[reached]bool
	form
}

// reached is a type, and whether encoding/json can take its address there. Then it also calls the
// methods of the pointer.
type reached struct {
	t    reflect.Type
	addr bool
}

func (d *dropping) refuse(path, reason string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s: %s", ErrType, path, reason)
	}
}

func (d *dropping) value(t reflect.Type, path string, addr bool) {
	if d.err != nil || d.seen[reached{t, addr}] {
		return
	}
	d.seen[reached{t, addr}] = true
	switch {
	case t.Kind() == reflect.Interface:
		d.dynamic = true // also if it has a MarshalJSON: what is in it may have fields
		return
	case marshals(t) || addr && marshals(reflect.PointerTo(t)):
		var c typeChecker
		if c.marshaler(t, path); len(c.errs) > 0 && d.err == nil {
			d.err = c.errs[0]
		}
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		d.value(t.Elem(), path, true)
	case reflect.Slice:
		d.value(t.Elem(), path+"[]", true)
	case reflect.Array:
		d.value(t.Elem(), path+"[]", addr)
	case reflect.Map:
		d.value(t.Elem(), path+"[]", false)
	case reflect.Struct:
		d.fields(t, path, addr, &object{names: make(map[string]string)})
	}
}

// object is a JSON object: the fields of a struct and of those that it embeds.
type object struct {
	names map[string]string // to the path of the field
	parts []reflect.Type    // the struct, and the embedded ones that lead to the present one
}

// fields checks the fields of t, which are fields of o.
func (d *dropping) fields(t reflect.Type, path string, addr bool, o *object) {
	if slices.Contains(o.parts, t) {
		return // it embeds a pointer to itself
	}
	o.parts = append(o.parts, t)
	for f := range t.Fields() {
		if f.Name != "_" && f.Type.Size() > 0 {
			d.field(f, path+"."+f.Name, addr, o)
		}
	}
	o.parts = o.parts[:len(o.parts)-1]
}

func (d *dropping) field(f reflect.StructField, at string, addr bool, o *object) {
	tag := f.Tag.Get("json")
	name, opts, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = "" // encoding/json ignores it too
	}
	part, byPointer := f.Type, f.Anonymous && f.Type.Kind() == reflect.Pointer
	if byPointer {
		part = part.Elem()
	}
	switch {
	case tag == "-":
		d.refuse(at, excluded)
	case f.Anonymous && name == "" && part.Kind() == reflect.Struct:
		d.fields(part, at, addr || byPointer, o) // they are fields of the outer object
	case !f.IsExported():
		d.refuse(at, unexported)
	default:
		name = cmp.Or(name, f.Name)
		if other, taken := o.names[name]; taken {
			d.refuse(at, fmt.Sprintf("JSON name %q is also that of %s, so one of them is left out: give it another name", name, other))
		}
		o.names[name] = at
		if omitsZero(opts, f.Type) && !marshals(reflect.PointerTo(f.Type)) {
			d.refuse(at, zeroLike)
		}
		d.value(f.Type, at, addr)
	}
}
