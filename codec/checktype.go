package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// rules describe how a codec treats types, as far as values may change.
type rules struct {
	codec Codec
	tags  tagging

	// own are the ways in which a type may marshal itself, in the codec's order.
	own []ownWay

	// addressed means that the encoder finds a method of *T even for a T in a map or at the top.
	// It copies the T.
	addressed bool

	anyKey   bool // map keys may have any type that has an encoding
	uintptrs bool // a uintptr has an encoding

	items func(data []byte) items // nil if the decoder will refuse data

	// readers are the methods that get a list or a dict in place of the decoder. CBOR calls
	// UnmarshalBinary and UnmarshalText only for bytes and texts, and decodes fields from others.
	readers []reflect.Type
}

type ownWay struct {
	encoder, decoder reflect.Type
	names            string
}

func ownWayOf[E, D any](name string) ownWay {
	return ownWay{reflect.TypeFor[E](), reflect.TypeFor[D](), name}
}

var (
	textWay = ownWayOf[encoding.TextMarshaler, encoding.TextUnmarshaler]("Text")

	jsonRules = rules{
		codec: JSON, tags: jsonTags, uintptrs: true,
		own:   []ownWay{ownWayOf[json.Marshaler, json.Unmarshaler]("JSON"), textWay},
		items: readJSON, readers: []reflect.Type{reflect.TypeFor[json.Unmarshaler](), textWay.decoder},
	}
	cborRules = rules{
		codec: CBOR, tags: cborTags, addressed: true, anyKey: true,
		own: []ownWay{
			ownWayOf[cbor.Marshaler, cbor.Unmarshaler]("CBOR"),
			ownWayOf[encoding.BinaryMarshaler, encoding.BinaryUnmarshaler]("Binary"),
			textWay,
		},
		items: readCBOR, readers: []reflect.Type{reflect.TypeFor[cbor.Unmarshaler]()},
	}
)

func (r *rules) faults(t reflect.Type) []TypeFault {
	if t == nil {
		return []TypeFault{{"nil", nil, "is not a type"}}
	}
	c := checking{rules: r, seen: make(map[place]bool)}
	c.check(t, at{path: typeName(t), root: true, addr: r.addressed})
	return c.faults
}

type checking struct {
	*rules
	seen   map[place]bool
	faults []TypeFault
}

// place is a type and the properties of its place that matter.
type place struct {
	t         reflect.Type
	addr, key bool
}

// at is the place of the check in a type.
type at struct {
	path string
	root bool // no field has been entered
	addr bool // the encoder finds methods of *T
	key  bool // in a key of a map
}

func (a at) element() at { a.path += "[]"; return a }

func (c *checking) fault(a at, t reflect.Type, reason string) {
	c.faults = append(c.faults, TypeFault{a.path, t, reason})
}

func (c *checking) check(t reflect.Type, a at) {
	p := place{t, a.addr, a.key}
	if c.seen[p] {
		return
	}
	if a.key && t == timeType {
		c.fault(a, t, oneInstant)
		return
	}
	if c.marshalsItself(t, a) {
		return
	}
	c.seen[p] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		c.fault(a, t, fmt.Sprintf("is a %v, which has no encoding", t.Kind()))
	case reflect.Uintptr:
		if !c.uintptrs {
			c.fault(a, t, "is a uintptr, which has no encoding")
		}
	case reflect.Interface:
		c.fault(a, t, "is an interface: decoding loses its dynamic type, and the type and the digits of a number")
	case reflect.Pointer:
		if a.key {
			c.fault(a, t, "is a pointer in a key of a map, which comes back as another key")
			return
		}
		a.addr = true
		c.check(t.Elem(), a)
	case reflect.Slice:
		a.addr = true
		c.check(t.Elem(), a.element())
	case reflect.Array:
		c.check(t.Elem(), a.element())
	case reflect.Map:
		c.checkMap(t, a)
	case reflect.Struct:
		c.checkStruct(t, a)
	}
}

var timeType = reflect.TypeFor[time.Time]()

const oneInstant = "is a time in a key of a map: unequal keys can be one instant, and come back as one key: use its UnixNano"

// marshalsItself reports whether the check of t ends here, because its own methods encode it, or
// because only one of a pair of methods exists.
func (c *checking) marshalsItself(t reflect.Type, a at) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false
	}
	for _, way := range c.own {
		onValue, onPointer := t.Implements(way.encoder), reflect.PointerTo(t).Implements(way.encoder)
		decodes := reflect.PointerTo(t).Implements(way.decoder) || reflect.PointerTo(t).Implements(c.own[0].decoder)
		switch {
		case onValue || onPointer && a.addr:
			if !decodes {
				c.fault(a, t, fmt.Sprintf("has Marshal%s without Unmarshal%[1]s", way.names))
			} else if name := c.swallowed(t); name != "" {
				c.fault(a, t, fmt.Sprintf("marshals itself by the Marshal%s of what it embeds, which leaves out %s", way.names, name))
			}
			return true
		case onPointer:
			c.fault(a, t, fmt.Sprintf("has a Marshal%s of its pointer, which %s does not call for a value at this place: "+
				"give it a value receiver, or use a pointer", way.names, c.codec.ID()))
			return true
		}
	}
	return false
}

func (c *checking) checkMap(t reflect.Type, a at) {
	key, inKey := t.Key(), a
	inKey.path, inKey.key, inKey.addr = a.path+"[key]", true, c.addressed
	if c.anyKey {
		c.check(key, inKey)
	} else if reason := c.badJSONKey(key); reason != "" {
		c.fault(inKey, key, reason)
	}
	a.addr = c.addressed
	c.check(t.Elem(), a.element())
}

// badJSONKey returns why encoding/json cannot write or read a map key of type t, or "".
func (c *checking) badJSONKey(t reflect.Type) string {
	writes, reads := t.Implements(textWay.encoder), reflect.PointerTo(t).Implements(textWay.decoder)
	switch k := t.Kind(); {
	case t == timeType:
		return oneInstant
	case k == reflect.Pointer || k == reflect.Interface:
		return fmt.Sprintf("is a %v as the key of a map, which comes back as another key", k)
	case reads && !readsOwnKey(t):
		return "has an UnmarshalJSON, which encoding/json prefers to UnmarshalText, that does not read the text of a key"
	case k == reflect.String && reads && !spellsItself(t):
		return "is a string, which encoding/json writes as it is, and has an UnmarshalText that reads something else: use the string"
	case writes && reads && c.swallowed(t) != "":
		return "marshals itself by what it embeds, which leaves out " + c.swallowed(t)
	case k == reflect.String, writes && reads:
		return ""
	case writes:
		return "has MarshalText without UnmarshalText"
	case reads:
		return "has UnmarshalText without a MarshalText of the value"
	case k >= reflect.Int && k <= reflect.Uintptr:
		return ""
	}
	return "cannot be spelled as the name of a JSON object: give it MarshalText and UnmarshalText"
}

// readsOwnKey tries an example of a key. Only a failure to read it counts.
func readsOwnKey(t reflect.Type) (ok bool) {
	defer func() { ok = ok || recover() != nil }()
	m := reflect.MakeMap(reflect.MapOf(t, reflect.TypeFor[bool]()))
	m.SetMapIndex(reflect.Zero(t), reflect.ValueOf(true))
	data, err := json.Marshal(m.Interface())
	return err != nil || json.Unmarshal(data, reflect.New(m.Type()).Interface()) == nil
}

// spellsItself tries examples of a key that is a string. It reports whether MarshalText and
// UnmarshalText keep them, or fail.
func spellsItself(t reflect.Type) (ok bool) {
	defer func() { ok = ok || recover() != nil }()
	for _, s := range []string{"x", "61"} {
		key := reflect.New(t)
		if u, _ := reflect.TypeAssert[encoding.TextUnmarshaler](key); u.UnmarshalText([]byte(s)) == nil && key.Elem().String() != s {
			return false
		}
		key.Elem().SetString(s)
		if m, ok := reflect.TypeAssert[encoding.TextMarshaler](key); ok {
			if text, err := m.MarshalText(); err == nil && string(text) != s {
				return false
			}
		}
	}
	return true
}

func (c *checking) checkStruct(t reflect.Type, a at) {
	if a.root {
		a.path = typeName(t)
	}
	a.root = false
	written := make(map[string]bool)
	fields := fieldsOf(t, c.tags)
	for _, f := range fields {
		written[fmt.Sprint(f.Index)] = true
	}
	c.checkFields(t, t, nil, a, written, fields)
}

// checkFields checks the fields of part, which is outer itself or a struct embedded in it at
// index.
func (c *checking) checkFields(outer, part reflect.Type, index []int, a at, written map[string]bool, all []field) {
	for i := range part.NumField() {
		f := part.Field(i)
		excluded := c.tags.of(f.Tag) == "-"
		if f.Name == "_" || excluded && !f.IsExported() || f.Type.Size() == 0 {
			continue // no content, or only this package can read it and knows that it is lost
		}
		in := a
		in.path += "." + f.Name
		if excluded {
			c.fault(in, f.Type, `is left out by its tag "-"`)
			continue
		}
		at := append(slices.Clone(index), i)
		switch {
		case c.tags.inline(f) && f.Type.Kind() == reflect.Pointer && !f.IsExported():
			c.fault(in, f.Type, "is an embedded pointer to an unexported type, which no decoder can set: embed the struct")
		case c.tags.inline(f) && f.Type.Kind() == reflect.Pointer && vanishes(all, at):
			c.fault(in, f.Type, "is an embedded pointer all of whose fields may be left out, so that it comes back nil: embed the struct")
		case c.tags.inline(f):
			if f.Type.Kind() == reflect.Pointer {
				in.addr = true
			}
			if structOf(f.Type) != outer {
				c.checkFields(outer, structOf(f.Type), at, in, written, all)
			}
		case !written[fmt.Sprint(at)] && !f.IsExported():
			c.fault(in, f.Type, "is unexported and is left out")
		case !written[fmt.Sprint(at)]:
			c.fault(in, f.Type, "is hidden behind another field of its name in the encoding")
		default:
			c.check(f.Type, in)
		}
	}
}

// vanishes reports whether the encoding may leave out all fields of an embedded struct.
func vanishes(all []field, index []int) bool {
	for _, f := range all {
		if len(f.Index) > len(index) && slices.Equal(f.Index[:len(index)], index) && !f.omits {
			return false
		}
	}
	return true
}
