package remote

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/tier"
)

// ErrTooLarge means that a value is over the policy's MaxValueBytes. See package cache.
var ErrTooLarge = errors.New("cache: value too large")

// ErrEncode marks errors of codecs. Its text is not shown.
var ErrEncode = errors.New("cache: value does not encode")

// Encoded is a value in the form in which a cell holds it.
type Encoded struct {
	Codec string // the ID of the codec that reads it
	Data  []byte
	Plain int // the length before compression
}

// snappy compresses the output of another codec. codec.Snappy of that codec reads the result.
var snappy = codec.Snappy(codec.Raw, 0)

// Payloads encodes and decodes the values of one cache.
type Payloads struct {
	ValueType reflect.Type
	Codec     codec.Codec
	Schema    uint64
	SnappyID  string // of the codec that reads compressed values; empty if there is none
}

// Encode returns the payload of the value that p points to. Before compression it has at most limit
// bytes.
func (s *Payloads) Encode(p any, limit int) (e Encoded, err error) {
	v := reflect.ValueOf(p).Elem()
	defer func() {
		if p := recover(); p != nil {
			err = fault.Mark(fmt.Errorf("codec %s panicked (%T)", s.Codec.ID(), p), ErrEncode)
		}
	}()
	b, err := codec.MarshalWithin(s.Codec, v.Interface(), limit)
	switch {
	case errors.Is(err, codec.ErrTooLarge):
		return e, fmt.Errorf("%w: MaxValueBytes is %d: %w", ErrTooLarge, limit, err)
	case err != nil:
		return e, fault.Mark(fmt.Errorf("value of type %T does not encode as %s: %w", v.Interface(), s.Codec.ID(), err), ErrEncode)
	}
	return s.compact(b), nil
}

// compact compresses a large payload if that makes it smaller. The cell carries the ID of the
// codec that reads it. Processes of every version know that codec, so old and new processes read it
// during an update of the fleet.
func (s *Payloads) compact(b []byte) Encoded {
	plain := codec.PlainLen(s.Codec, b)
	if s.SnappyID != "" && len(b) >= codec.DefaultMinSize {
		if small, err := snappy.Marshal(b); err == nil && len(small) < len(b) {
			return Encoded{s.SnappyID, small, plain}
		}
	}
	return Encoded{s.Codec.ID(), b, plain}
}

// ErrUnknownCodec means that this process does not know the codec of a cell.
var ErrUnknownCodec = errors.New("cache: unknown codec")

// Decode decodes the payload of a cell to where ptr points, by the codec that wrote it. If the
// codec panics, the frame counts as unreadable. Decode refuses a payload that is larger than limit
// before it allocates memory.
//
// The frame of size bytes belongs to this process, so the value may share its memory. It must not
// if the payload is only a small part of the frame, because the value would keep the whole frame
// from the garbage collector. Decode returns the length of the payload before compression.
func Decode(codecs codec.Set, c *tier.Cell, size int, ptr any, limit int) (plain int, err error) {
	cd, ok := codecs.Lookup(c.Codec)
	if !ok {
		return 0, ErrUnknownCodec
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cache: codec panicked (%T)", p)
		}
	}()
	owned := size-len(c.Payload) <= size/8
	return codec.PlainLen(cd, c.Payload), codec.UnmarshalWithin(cd, c.Payload, ptr, limit, owned)
}
