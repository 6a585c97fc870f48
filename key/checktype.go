package key

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

	isZeroer   = reflect.TypeFor[interface{ IsZero() bool }]()
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
)

// Why a field is refused, and what to do. Two values that differ only in it would share an id.
const (
	excluded   = `left out of the JSON by its tag "-": remove the tag, or make the key of a struct without the field`
	unexported = "unexported, so left out of the JSON: export it, or make the key of a struct without the field"
	zeroLike   = "omitzero leaves out every value for which its IsZero is true, not only the zero value: remove the option"
)

// CheckType returns nil if [Of] never gives two unequal values of K the same id. Otherwise it
// returns an error that wraps [ErrType] and names the path of every faulty field.
//
// Strings and integers are always valid. In other types CheckType looks for differences that ==
// sees and JSON does not: pointers, interfaces, channels and complex numbers; fields that are
// unexported, tagged "-", or lost because two share a JSON name (even if the letter case differs);
// types whose JSON makes unequal values equal, such as [time.Time] and [json.Number].
//
// CheckType trusts a type that marshals itself by value (as [encoding/json.Marshaler] or
// [encoding.TextMarshaler]), as netip.Addr and most UUID types do. The exception is a type that
// embeds another such type next to other fields. Its methods may be those of the embedded type,
// which do not see the other fields.
func CheckType[K comparable]() error {
	t := reflect.TypeFor[K]()
	if !hashes(t) {
		return nil // Of spells these without JSON
	}
	w := walker{key: true, seen: make(map[reached]bool)}
	w.value(t, t.String(), false)
	return errors.Join(w.errs...)
}

// walker looks for parts of a type that its JSON leaves out or changes.
type walker struct {
	key     bool // the type is that of a key: unequal values must have unequal JSON
	seen    map[reached]bool
	errs    []error
	dynamic bool // an interface is in it
}

// reached is a type, and whether encoding/json can take its address there. Then it also calls the
// methods of the pointer.
type reached struct {
	t    reflect.Type
	addr bool
}

func (w *walker) refuse(path, format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf("%w: %s: %s", ErrType, path, fmt.Sprintf(format, args...)))
}

func (w *walker) value(t reflect.Type, path string, addr bool) {
	if w.key && w.changes(t, path) {
		return
	}
	r := reached{t, addr}
	if !w.key && w.seen[r] {
		return // a key names every path to a type; it cannot contain itself
	}
	w.seen[r] = true
	switch {
	case t.Size() == 0: // it has only one value
		return
	case t.Kind() == reflect.Interface:
		w.dynamic = true // also if it has a MarshalJSON: what is in it may have fields
		return
	case marshals(t) || addr && marshals(reflect.PointerTo(t)):
		w.marshaler(t, path)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		w.value(t.Elem(), path, true)
	case reflect.Slice:
		w.value(t.Elem(), path+"[]", true)
	case reflect.Array:
		w.value(t.Elem(), path+"[]", addr)
	case reflect.Map:
		w.value(t.Elem(), path+"[]", false)
	case reflect.Struct:
		w.fields(t, path, addr, &object{names: make(map[string]string)})
	}
}

// changes refuses a type of a key whose unequal values may have one JSON, or none.
func (w *walker) changes(t reflect.Type, path string) bool {
	switch t {
	case timeType:
		w.refuse(path, "unequal time.Time values can be one instant (other location, monotonic reading); use t.UnixNano()")
		return true
	case numberType:
		w.refuse(path, "unequal json.Number values can be one number; use a string")
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer, reflect.Func, reflect.Map, reflect.Slice:
		w.refuse(path, "a %v compares by address, its JSON by content", t.Kind())
	case reflect.Interface:
		w.refuse(path, "an interface holds values of different types with one JSON")
	case reflect.Complex64, reflect.Complex128:
		if marshals(t) {
			return false
		}
		w.refuse(path, "a %v has no JSON form", t.Kind())
	default:
		return false
	}
	return true
}

// marshals reports whether values of t marshal themselves. Methods of *t do not count.
func marshals(t reflect.Type) bool {
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
}

func (w *walker) marshaler(t reflect.Type, path string) {
	if t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		switch {
		case !f.Anonymous || !marshals(f.Type):
		case t.NumField() > 1:
			w.refuse(path, "the JSON may be that of the embedded %v alone; give it a field name", f.Type)
		case w.key:
			w.value(f.Type, path+"."+f.Name, false)
		}
	}
}

// object is a JSON object: the fields of a struct and of those that it embeds.
type object struct {
	names map[string]string // to the path of the field
	parts []reflect.Type    // the struct, and the embedded ones that lead to the present one
}

// fields checks the fields of t, which are fields of o.
func (w *walker) fields(t reflect.Type, path string, addr bool, o *object) {
	if slices.Contains(o.parts, t) {
		return // it embeds a pointer to itself
	}
	o.parts = append(o.parts, t)
	for f := range t.Fields() {
		if f.Name != "_" { // == skips it too
			w.field(f, path+"."+f.Name, addr, o)
		}
	}
	o.parts = o.parts[:len(o.parts)-1]
}

func (w *walker) field(f reflect.StructField, at string, addr bool, o *object) {
	tag := f.Tag.Get("json")
	name, opts, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = "" // encoding/json ignores it too
	}
	part, byPointer := f.Type, f.Anonymous && f.Type.Kind() == reflect.Pointer
	if byPointer && !w.key {
		part = part.Elem()
	}
	switch {
	case f.Type.Size() == 0 && (tag == "-" || !f.IsExported() && (!f.Anonymous || part.Kind() != reflect.Struct)): // it has only one value
	case tag == "-":
		w.refuse(at, excluded)
	case f.Anonymous && name == "" && part.Kind() == reflect.Struct:
		// They are fields of the outer object, even if part marshals itself: encoding/json calls only
		// the methods of the outer type.
		w.fields(part, at, addr || byPointer, o)
	case !f.IsExported():
		w.refuse(at, unexported)
	default:
		w.name(cmp.Or(name, f.Name), at, o)
		if omitsZero(opts, f.Type) && (w.key || !marshals(f.Type) && !marshals(reflect.PointerTo(f.Type))) {
			w.refuse(at, zeroLike)
		}
		w.value(f.Type, at, addr)
	}
}

// name notes the name of a field. For a key, names that differ only in the case of letters are one.
func (w *walker) name(name, at string, o *object) {
	same := name
	if w.key {
		same = strings.ToLower(name)
	}
	if other, taken := o.names[same]; taken {
		w.refuse(at, "JSON name %q is also that of %s, so one of them is left out: give it another name", name, other)
	}
	o.names[same] = at
}

// omitsZero reports whether the options of a tag let the type decide which of its values are left out.
func omitsZero(opts string, t reflect.Type) bool {
	return slices.Contains(strings.Split(opts, ","), "omitzero") &&
		(t.Implements(isZeroer) || reflect.PointerTo(t).Implements(isZeroer))
}

// validName reports whether encoding/json accepts name in a tag.
func validName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}
