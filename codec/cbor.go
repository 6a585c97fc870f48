package codec

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// CBOR is RFC 8949 by fxamacker/cbor, id "cbor". It is somewhat smaller than JSON, most for
// numbers and []byte. It is as quick to write and more than twice as quick to read. It writes the
// core deterministic encoding (section 4.2), so equal values have equal bytes. It uses the
// json tag of a field without a cbor tag. Names are case-sensitive.
//
// A time.Time is text (tag 0, RFC 3339). It keeps nanoseconds and the zone's offset, but not the
// zone's name and the monotonic reading. The zero time is null.
//
// A type that marshals itself does so as CBOR, binary or text: the first of these that it has.
// A struct that marshals itself only as JSON and has unexported fields is [ErrType], because
// those fields would be lost. Inside an any this is not detected.
//
// In an any, integers are decoded as int64 (or *big.Int), with every digit, and maps as
// map[string]any. A map with other keys is refused there. An int in an any changes its type, so
// Check refuses an any; see [Lossy].
//
// Decoding refuses data that encoding never writes: repeated map keys, indefinite lengths, data
// after the value, and big integers for a type without a big.Int. It also refuses nesting deeper
// than 64, and arrays and maps of more than 2²⁰ elements. Marshal refuses these with [ErrValue]. A
// string need not be UTF-8.
//
// Marshal must not be given a value that contains itself: it would follow it until the stack
// overflows and the program ends. A time needs a year from 0 to 9999, or it is not decoded.
var CBOR Codec = cborCodec{}

const (
	cborDepth    = 64
	cborElements = 1 << 20
)

type cborCodec struct{}

func (cborCodec) ID() string { return "cbor" }

func (c cborCodec) Marshal(v any) ([]byte, error) {
	if v != nil {
		if t := cborTypeOf(reflect.TypeOf(v)).jsonOnly; t != nil {
			return nil, marshalError(ErrType, c.ID(), v, fmt.Errorf("%v marshals itself only as JSON", t))
		}
	}
	data, err := cborEnc.Marshal(v)
	if err != nil {
		is := ErrValue
		if _, ok := errors.AsType[*cbor.UnsupportedTypeError](err); ok {
			is = ErrType
		}
		return nil, marshalError(is, c.ID(), v, err)
	}
	if err := cborBigDec.Wellformed(data); err != nil { // too deep or too many
		return nil, marshalError(ErrValue, c.ID(), v, err)
	}
	return data, nil
}

func (c cborCodec) Unmarshal(data []byte, v any) error {
	mode := cborDec
	if v != nil && cborTypeOf(reflect.TypeOf(v)).bigInts {
		mode = cborBigDec
	}
	err := mode.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	is := ErrCorrupt
	if _, ok := errors.AsType[*cbor.InvalidUnmarshalError](err); ok {
		is = ErrType
	}
	return unmarshalError(is, c.ID(), data, v, err)
}

// cborType is what the codec needs to know about a type.
type cborType struct {
	jsonOnly reflect.Type
	bigInts  bool // a value may hold a big.Int
}

// cborTypes keeps one answer for each type until the program ends, as encoding/json does.
var cborTypes sync.Map // reflect.Type → cborType

func cborTypeOf(t reflect.Type) cborType {
	if found, ok := cborTypes.Load(t); ok {
		return found.(cborType)
	}
	c := cborType{jsonOnly(t), holdsBigInt(t, make(map[reflect.Type]bool))}
	cborTypes.Store(t, c)
	return c
}

// holdsBigInt reports whether t leads to a big.Int, or to an interface or its own decoder, which may
// accept one.
func holdsBigInt(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if t == reflect.TypeFor[big.Int]() || implementsAny(t, []reflect.Type{reflect.TypeFor[cbor.Unmarshaler]()}) {
		return true
	}
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Map:
		return holdsBigInt(t.Key(), seen) || holdsBigInt(t.Elem(), seen)
	case reflect.Array, reflect.Pointer, reflect.Slice:
		return holdsBigInt(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if holdsBigInt(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// The text of an error for a big integer in place of another number holds all its digits, and that
// takes a second for a megabyte. So cborDec refuses big integers.
var (
	cborEnc    = must(encOptions().EncMode())
	cborDec    = must(decOptions(cbor.BignumTagForbidden).DecMode())
	cborBigDec = must(decOptions(cbor.BignumTagAllowed).DecMode())
)

func encOptions() cbor.EncOptions {
	o := cbor.CoreDetEncOptions()
	o.Time = cbor.TimeRFC3339Nano
	o.TimeTag = cbor.EncTagRequired
	// Without TextMarshaler, a type that marshals itself only as text would lose its unexported
	// fields. There is a similar option for JSON (JSONMarshalerTranscoder), but it is broken. The
	// encoder prefers binary and text to it and the decoder does not, so a type with both could
	// not be decoded. See jsonOnly.
	o.TextMarshaler = cbor.TextMarshalerTextString
	return o
}

func decOptions(bigInts cbor.BignumTagMode) cbor.DecOptions {
	return cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:   cborDepth,
		MaxArrayElements:  cborElements,
		MaxMapPairs:       cborElements,
		IndefLength:       cbor.IndefLengthForbidden,
		IntDec:            cbor.IntDecConvertSignedOrBigInt,
		DefaultMapType:    reflect.TypeFor[map[string]any](),
		UTF8:              cbor.UTF8DecodeInvalid,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		BignumTag:         bigInts,
		TextUnmarshaler:   cbor.TextUnmarshalerTextString,
	}
}

// must is for the two modes above, whose options are constants.
func must[T any](mode T, err error) T {
	if err != nil {
		panic(err)
	}
	return mode
}
