// Package logwire turns the fences of a log's records into payloads and back. The logs share what a
// record may hold; their layouts differ.
package logwire

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Layout is the form of the fences in a payload. They are written one after the other, big-endian.
// A process whose version does not know a kind or a bit takes the record for damaged, and discards
// everything older.
type Layout uint8

const (
	// Compact is the layout of a log on Redis. Only a prefix has a length. The part is there only with
	// its bit:
	//
	//	kind u8, with 0x20 for a part, 0x40 for soft | hash u64 | length u16 | part u16
	Compact Layout = iota

	// Fixed is the layout of a log in a database. It always has all but the part:
	//
	//	kind u8, with 0x20 for a part, 0x80 for soft | hash u64 | length of the prefix u16 | part u16
	Fixed
)

// The first byte of a fence.
const (
	partBit   = 0x20
	softBit   = 0x40 // Compact
	fixedSoft = 0x80 // Fixed
)

// Check returns why fences cannot be one record of the sequence of keys, or of the other sequence.
func Check(fences []invalidate.Fence, ofKeys bool) error {
	if len(fences) > invalidate.MaxFences {
		return fmt.Errorf("%d fences for one record, at most %d", len(fences), invalidate.MaxFences)
	}
	for i, f := range fences {
		if err := check(f, ofKeys); err != nil {
			return fmt.Errorf("fence %d: %w", i, err)
		}
	}
	return nil
}

func check(f invalidate.Fence, ofKeys bool) error {
	switch {
	case f.Kind < invalidate.KindKey || f.Kind > invalidate.KindAll || f.OfKeys() != ofKeys:
		return fmt.Errorf("a %v does not belong to this sequence", f.Kind)
	case f.Len < 0 || f.Len > math.MaxUint16 || f.Len > 0 && f.Kind != invalidate.KindPrefix:
		return fmt.Errorf("length of %d for a %v: only a prefix has a length, up to %d", f.Len, f.Kind, math.MaxUint16)
	case f.Part > 0 && f.Kind != invalidate.KindPrefix:
		return fmt.Errorf("part of %d for a %v: only a prefix has a part", f.Part, f.Kind)
	}
	return nil
}

// Millis returns the milliseconds of a bound, rounded up.
func Millis(d time.Duration) int64 {
	return int64(d/time.Millisecond) + min(int64(d%time.Millisecond), 1)
}

// Payloads returns the payloads of what a Sync appends, nil for no fences.
func (l Layout) Payloads(a invalidate.Append) (keys, scopes []byte, err error) {
	if err := cmp.Or(Check(a.Keys, true), Check(a.Scopes, false)); err != nil {
		return nil, nil, err
	}
	if len(a.Keys) > 0 {
		keys = l.Encode(a.Keys)
	}
	if len(a.Scopes) > 0 {
		scopes = l.Encode(a.Scopes)
	}
	return keys, scopes, nil
}

// Encode returns the payload of fences that pass [Check].
func (l Layout) Encode(fences []invalidate.Fence) []byte {
	b := make([]byte, 0, l.size(invalidate.KindKey, false)*len(fences))
	for _, f := range fences {
		kind := byte(f.Kind)
		switch {
		case f.Soft && l == Fixed:
			kind |= fixedSoft
		case f.Soft:
			kind |= softBit
		}
		if f.Part > 0 {
			kind |= partBit
		}
		b = binary.BigEndian.AppendUint64(append(b, kind), f.Hash)
		if l == Fixed || f.Kind == invalidate.KindPrefix {
			b = binary.BigEndian.AppendUint16(b, uint16(f.Len)) //nolint:gosec // Check has limited it
		}
		if f.Part > 0 {
			b = binary.BigEndian.AppendUint16(b, f.Part)
		}
	}
	return b
}

// size returns the bytes of a fence.
func (l Layout) size(k invalidate.Kind, part bool) int {
	n := 9
	if l == Fixed || k == invalidate.KindPrefix {
		n += 2
	}
	if part {
		n += 2
	}
	return n
}

// Decode returns the fences of a payload, and false when Encode cannot have written any part of it.
func (l Layout) Decode(b []byte, ofKeys bool) ([]invalidate.Fence, bool) {
	if len(b) == 0 {
		return nil, false
	}
	fences := make([]invalidate.Fence, 0, min(len(b)/l.size(invalidate.KindKey, false), invalidate.MaxFences))
	for len(b) > 0 {
		f, size := l.decodeOne(b)
		if size == 0 || check(f, ofKeys) != nil || len(fences) == invalidate.MaxFences {
			return nil, false
		}
		fences, b = append(fences, f), b[size:]
	}
	return fences, true
}

// decodeOne returns the first fence of b and its size. The size is 0 if b does not start with one.
func (l Layout) decodeOne(b []byte) (f invalidate.Fence, size int) {
	soft, part := byte(fixedSoft), b[0]&partBit != 0
	if l == Compact {
		soft = softBit
	}
	f.Kind, f.Soft = invalidate.Kind(b[0]&^(soft|partBit)), b[0]&soft != 0
	if size = l.size(f.Kind, part); len(b) < size {
		return f, 0
	}
	if part && f.Kind == invalidate.KindPrefix {
		f.Part = binary.BigEndian.Uint16(b[11:])
	}
	f.Hash = binary.BigEndian.Uint64(b[1:])
	if l == Fixed || f.Kind == invalidate.KindPrefix {
		f.Len = int(binary.BigEndian.Uint16(b[9:]))
	}
	if part && f.Part == 0 {
		return f, 0 // the bit would be missing
	}
	return f, size
}

// NewID returns a random id of a record or of an epoch, which is never zero.
func NewID() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // documented never to fail
		if id := binary.BigEndian.Uint64(b[:]); id != 0 {
			return id
		}
	}
}
