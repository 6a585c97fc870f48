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
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	isZeroer      = reflect.TypeFor[interface{ IsZero() bool }]()
	timeType      = reflect.TypeFor[time.Time]()
	numberType    = reflect.TypeFor[json.Number]()
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
	switch t.Kind() {
	case reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return nil // Of spells these without JSON
	}
	var c typeChecker
	c.value(t, t.String())
	return errors.Join(c.errs...)
}

// typeChecker walks a key's type. It always ends: a comparable type can contain itself only
// through a pointer or an interface, and it refuses both.
type typeChecker struct{ errs []error }

func (c *typeChecker) refuse(path, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%w: %s: %s", ErrType, path, fmt.Sprintf(format, args...)))
}

func (c *typeChecker) value(t reflect.Type, path string) {
	switch t {
	case timeType:
		c.refuse(path, "unequal time.Time values can be one instant (other location, monotonic reading); use t.UnixNano()")
		return
	case numberType:
		c.refuse(path, "unequal json.Number values can be one number; use a string")
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer, reflect.Func, reflect.Map, reflect.Slice:
		c.refuse(path, "a %v compares by address, its JSON by content", t.Kind())
		return
	case reflect.Interface:
		c.refuse(path, "an interface holds values of different types with one JSON")
		return
	}
	if marshals(t) {
		c.marshaler(t, path)
		return
	}
	switch t.Kind() {
	case reflect.Complex64, reflect.Complex128:
		c.refuse(path, "a %v has no JSON form", t.Kind())
	case reflect.Array:
		c.value(t.Elem(), path+"[]")
	case reflect.Struct:
		c.fields(t, path, make(map[string]string))
	}
}

// marshals reports whether values of t marshal themselves. Methods of *t do not count, because a
// key is marshalled by value.
func marshals(t reflect.Type) bool {
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
}

func (c *typeChecker) marshaler(t reflect.Type, path string) {
	if t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		switch {
		case !f.Anonymous || !marshals(f.Type):
		case t.NumField() == 1:
			c.value(f.Type, path+"."+f.Name)
		default:
			c.refuse(path, "the JSON may be that of the embedded %v alone; give it a field name", f.Type)
		}
	}
}

// fields checks the fields of t. encoding/json writes them into one object. names maps its names,
// in lower case, to the path of the field that has the name.
func (c *typeChecker) fields(t reflect.Type, path string, names map[string]string) {
	for f := range t.Fields() {
		at := path + "." + f.Name
		tag := f.Tag.Get("json")
		name, opts, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = "" // encoding/json ignores it too
		}
		switch {
		case f.Name == "_": // == skips it too
		case tag == "-":
			c.refuse(at, excluded)
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && f.Type != timeType:
			// Flattened, even if it marshals itself: encoding/json calls only the methods of the
			// outer type.
			c.fields(f.Type, at, names)
		case !f.IsExported() && (f.Anonymous || f.Type.Size() > 0):
			c.refuse(at, unexported)
		case !f.IsExported(): // it has only one value
		default:
			c.field(f, at, cmp.Or(name, f.Name), opts, names)
		}
	}
}

func (c *typeChecker) field(f reflect.StructField, at, name, opts string, names map[string]string) {
	fold := strings.ToLower(name)
	if other, taken := names[fold]; taken {
		c.refuse(at, "JSON name %q is also that of %s", name, other)
	}
	names[fold] = at
	if omitsZero(opts, f.Type) {
		c.refuse(at, zeroLike)
	}
	c.value(f.Type, at)
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
