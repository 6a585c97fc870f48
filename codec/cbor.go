package codec

import (
	"errors"
	"fmt"
	"reflect"

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
// Decoding refuses data that encoding never writes: repeated map keys, indefinite lengths, text
// that is not UTF-8, nesting deeper than 64, large arrays and maps (more than 2²⁰ elements), and
// data after the value.
//
// Marshal refuses, with [ErrValue], a value that Unmarshal would refuse, such as a value that
// contains itself. That check walks the value, but only if its type refers to itself or holds an
// interface.
var CBOR Codec = cborCodec{}

const (
	cborDepth    = 64
	cborElements = 1 << 20
)

type cborCodec struct{}

func (cborCodec) ID() string { return "cbor" }

func (c cborCodec) Marshal(v any) ([]byte, error) {
	if v != nil {
		t := cborTypeOf(reflect.TypeOf(v))
		if t.jsonOnly != nil {
			return nil, marshalError(ErrType, c.ID(), v, fmt.Errorf("%v marshals itself only as JSON", t.jsonOnly))
		}
		if t.loops && endless(reflect.ValueOf(v), cborWalk) {
			return nil, marshalError(ErrValue, c.ID(), v, errEndless)
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
	if err := readable(data); err != nil {
		return nil, marshalError(ErrValue, c.ID(), v, err)
	}
	return data, nil
}

func (cborCodec) MarshalWithin(v any, into reflect.Type, limit int) ([]byte, error) {
	return cborRules.marshalWithin(v, into, limit)
}

func (cborCodec) UnmarshalWithin(data []byte, v any, limit int, _ bool) error {
	return cborRules.unmarshalWithin(data, v, limit)
}

func (c cborCodec) Unmarshal(data []byte, v any) error {
	err := cborDec.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	is := ErrCorrupt
	if _, ok := errors.AsType[*cbor.InvalidUnmarshalError](err); ok {
		is = ErrType
	}
	return unmarshalError(is, c.ID(), data, v, err)
}

var (
	cborEnc = must(encOptions().EncMode())
	cborDec = must(decOptions().DecMode())
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

func decOptions() cbor.DecOptions {
	return cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:   cborDepth,
		MaxArrayElements:  cborElements,
		MaxMapPairs:       cborElements,
		IndefLength:       cbor.IndefLengthForbidden,
		IntDec:            cbor.IntDecConvertSignedOrBigInt,
		DefaultMapType:    reflect.TypeFor[map[string]any](),
		UTF8:              cbor.UTF8RejectInvalid,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
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
