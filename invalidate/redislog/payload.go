package redislog

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// stream is one of the two streams of a log.
type stream uint8

const (
	keyStream stream = iota + 1
	scopeStream
)

func (s stream) takes(f invalidate.Fence) bool {
	switch f.Kind {
	case invalidate.KindKey, invalidate.KindPrefix, invalidate.KindTag, invalidate.KindAll:
		return f.OfKeys() == (s == keyStream)
	}
	return false
}

// The fences of a record are written one after the other, big-endian:
//
//	kind u8, with softBit, and holdBit when a hold follows | hash u64
//	| length u16, of a prefix | hold u32 in ms
//
// A process whose version does not know a kind or a bit takes the record for damaged, and gives
// up everything older. Another layout must use another field name. Then older versions find no
// fences, and give up everything older.
const (
	holdBit = 0x80
	softBit = 0x40
)

// encode returns the payload of a record, "" for no fences.
func encode(fences []invalidate.Fence, s stream) (string, error) {
	if len(fences) > invalidate.MaxFences {
		return "", fmt.Errorf("%w: %d fences in one record, at most %d", ErrAppend, len(fences), invalidate.MaxFences)
	}
	b := make([]byte, 0, 9*len(fences))
	for i, f := range fences {
		if err := check(f, s); err != nil {
			return "", fmt.Errorf("%w: fence %d: %w", ErrAppend, i, err)
		}
		kind := byte(f.Kind)
		if f.Hold > 0 {
			kind |= holdBit
		}
		if f.Soft {
			kind |= softBit
		}
		b = binary.BigEndian.AppendUint64(append(b, kind), f.Hash)
		if f.Kind == invalidate.KindPrefix {
			b = binary.BigEndian.AppendUint16(b, uint16(f.Len))
		}
		if f.Hold > 0 {
			b = binary.BigEndian.AppendUint32(b, uint32(millis(f.Hold)))
		}
	}
	return string(b), nil
}

func check(f invalidate.Fence, s stream) error {
	switch {
	case !s.takes(f):
		return fmt.Errorf("a %v does not belong to this sequence", f.Kind)
	case f.Len != 0 && f.Kind != invalidate.KindPrefix:
		return fmt.Errorf("length of %d, but only a prefix has a length", f.Len)
	case f.Len < 0 || f.Len > math.MaxUint16:
		return fmt.Errorf("length of %d, must be 0 to %d", f.Len, math.MaxUint16)
	case f.Soft && f.Hold > 0:
		return fmt.Errorf("hold of %v on a soft fence", f.Hold)
	case f.Hold < 0 || millis(f.Hold) > math.MaxUint32:
		return fmt.Errorf("hold of %v, must be 0 to %v", f.Hold, math.MaxUint32*time.Millisecond)
	}
	return nil
}

// millis rounds up: a hold may be longer than requested, but not shorter.
func millis(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// decode returns the fences of a payload. It returns false when any part is invalid.
func decode(payload string, s stream) ([]invalidate.Fence, bool) {
	if payload == "" {
		return nil, false
	}
	b := []byte(payload)
	fences := make([]invalidate.Fence, 0, min(len(b)/9, invalidate.MaxFences))
	for len(b) > 0 {
		f, size := decodeOne(b)
		if size == 0 || !s.takes(f) || len(fences) == invalidate.MaxFences {
			return nil, false
		}
		fences, b = append(fences, f), b[size:]
	}
	return fences, true
}

// decodeOne returns the first fence of b and its size. The size is 0 when b does not start with
// a fence that encode writes.
func decodeOne(b []byte) (f invalidate.Fence, size int) {
	f.Kind, f.Soft = invalidate.Kind(b[0]&^(holdBit|softBit)), b[0]&softBit != 0
	hold := b[0]&holdBit != 0
	size = 9
	if f.Kind == invalidate.KindPrefix {
		size += 2
	}
	if hold {
		size += 4
	}
	if len(b) < size {
		return f, 0
	}
	f.Hash = binary.BigEndian.Uint64(b[1:])
	if f.Kind == invalidate.KindPrefix {
		f.Len = int(binary.BigEndian.Uint16(b[9:]))
	}
	if hold {
		f.Hold = time.Duration(binary.BigEndian.Uint32(b[size-4:])) * time.Millisecond
		if f.Hold == 0 || f.Soft {
			return f, 0
		}
	}
	return f, size
}
