package codec

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Checker is a [Codec] that can tell whether it decodes every value of a type to an equal value.
// [JSON], [CBOR] and [Raw] are Checkers. A cache with a remote tier calls Check once, when it is
// made.
type Checker interface {
	// Check returns nil if every value of type t that Marshal accepts comes back equal from
	// Unmarshal. Nil and empty count as equal, and so do a nil pointer and a pointer to nil. Check
	// trusts a type that marshals and unmarshals itself. A field that is unexported and has the
	// tag "-" may be lost. A pointer comes back as a pointer to a copy.
	//
	// Otherwise Check returns a [*TypeError]. It may be called concurrently.
	Check(t reflect.Type) error
}

var (
	_ Checker = jsonCodec{}
	_ Checker = cborCodec{}
	_ Checker = rawCodec{}
)

// CheckerOf returns c, or the codec that c compresses or limits, as a [Checker]. It returns nil
// for a codec made by [Lossy], and for one without a Check method.
func CheckerOf(c Codec) Checker {
	for {
		if checker, ok := c.(Checker); ok {
			return checker
		}
		w, ok := c.(interface{ unwrap() Codec })
		if !ok {
			return nil
		}
		c = w.unwrap()
	}
}

// Lossy returns c, with its ID and its bytes, without its Check. A cache then accepts every type
// of value. Use it if c may lose part of a value, such as unexported fields or the number types
// in an any. Readers in other processes then get other values than the process that loaded them.
func Lossy(c Codec) Codec { return lossy{c} }

type lossy struct{ Codec }

var _ Owner = lossy{}

func (c lossy) UnmarshalOwned(data []byte, v any) error { return UnmarshalOwned(c.Codec, data, v) }

func (c lossy) marshalWithin(v any, limit int) ([]byte, error) {
	return MarshalWithin(c.Codec, v, limit)
}

func (c lossy) unmarshalWithin(data []byte, v any, limit int, owned bool) error {
	return UnmarshalWithin(c.Codec, data, v, limit, owned)
}

// TypeError says why a codec does not decode values of a type to equal values. It is an
// [ErrType].
type TypeError struct {
	Codec  string       // its ID
	Type   reflect.Type // the type that was checked
	Faults []TypeFault  // at least one
	Remedy string       // what to do about it
}

// TypeFault is a part of a type that a codec loses or changes.
type TypeFault struct {
	Path   string       // such as "User.profile.cache"; [] is an element, [key] a key of a map
	Type   reflect.Type // of that part
	Reason string
}

// maxFaults is how many faults the text of a TypeError names.
const maxFaults = 5

// Error names the first faults and the remedies.
func (e *TypeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s does not preserve %.200v: ", ErrType, e.Codec, e.Type)
	for i, f := range e.Faults {
		if i == maxFaults {
			fmt.Fprintf(&b, "; and %d more", len(e.Faults)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%.200s (%.200v) %s", f.Path, f.Type, f.Reason)
	}
	fmt.Fprintf(&b, ". Remedies: %s", e.Remedy)
	return b.String()
}

// Unwrap returns [ErrType].
func (e *TypeError) Unwrap() error { return ErrType }

const lastRemedies = "a codec of your own for types that have their own encoding, such as protobuf messages; LocalOnly in cache.Config if no other process needs the values; or codec.Lossy if the loss is meant"

// rules describe how a codec treats types. own are the pairs of interfaces by which a type may marshal
// itself, in the codec's order. If addressed is set, the encoder finds a method of *T for every T.
type rules struct {
	codec     Codec
	tag       func(reflect.StructTag) string
	addressed bool
	own       []ownWay
}

type ownWay struct {
	name             string
	encoder, decoder reflect.Type
	marshal          func(any) ([]byte, error) // calls the encoder
}

// ownWayOf takes the encoder's method. To find it by its name would keep the linker from dropping any
// method of the program.
func ownWayOf[E, D any](name string, marshal func(E) ([]byte, error)) ownWay {
	return ownWay{name, reflect.TypeFor[E](), reflect.TypeFor[D](), func(v any) ([]byte, error) { return marshal(v.(E)) }}
}

func jsonTag(t reflect.StructTag) string { return t.Get("json") }

func cborTag(t reflect.StructTag) string { return cmp.Or(t.Get("cbor"), t.Get("json")) }

var (
	textWay   = ownWayOf[encoding.TextMarshaler, encoding.TextUnmarshaler]("Text", encoding.TextMarshaler.MarshalText)
	binaryWay = ownWayOf[encoding.BinaryMarshaler, encoding.BinaryUnmarshaler]("Binary", encoding.BinaryMarshaler.MarshalBinary)
	jsonWay   = ownWayOf[json.Marshaler, json.Unmarshaler]("JSON", json.Marshaler.MarshalJSON)
	cborWay   = ownWayOf[cbor.Marshaler, cbor.Unmarshaler]("CBOR", cbor.Marshaler.MarshalCBOR)
	jsonRules = rules{JSON, jsonTag, false, []ownWay{jsonWay, textWay}}
	cborRules = rules{CBOR, cborTag, true, []ownWay{cborWay, binaryWay, textWay}}
)

func (r *rules) faults(t reflect.Type) []TypeFault {
	if t == nil {
		return []TypeFault{{"nil", nil, "is not a type"}}
	}
	c := checking{rules: r, seen: make(map[place]bool)}
	c.check(place{t, r.addressed}, typeName(t))
	return c.faults
}

// Check implements [Checker].
func (jsonCodec) Check(t reflect.Type) error { return jsonRules.check(t, "JSON") }

// Check implements [Checker].
func (cborCodec) Check(t reflect.Type) error { return cborRules.check(t, "Binary") }

func (r *rules) check(t reflect.Type, way string) error {
	faults := r.faults(t)
	if len(faults) == 0 {
		return nil
	}
	remedy := fmt.Sprintf("export the field, without the tag `%s:\"-\"`; keep it unexported and add that tag if it may come back empty; "+
		"give its type Marshal%s and Unmarshal%[2]s; ", r.codec.ID(), way)
	if r.codec != CBOR && len(cborRules.faults(t)) == 0 {
		remedy += "use codec.CBOR, which can; "
	}
	return &TypeError{r.codec.ID(), t, faults, remedy + lastRemedies}
}

// Check implements [Checker].
func (c rawCodec) Check(t reflect.Type) error {
	if t != nil && (t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8) {
		return nil
	}
	fault := TypeFault{typeName(t), t, "is neither a string nor a []byte"}
	return &TypeError{c.ID(), t, []TypeFault{fault}, "use codec.JSON or codec.CBOR; " + lastRemedies}
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "nil"
	}
	switch {
	case t.Name() != "":
		return t.Name()
	case t.Kind() == reflect.Struct:
		return "struct"
	}
	return t.String()
}
