package sqltier

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// A fence takes 15 bytes of a record, big-endian: kind u8 and softBit, hash u64, length of the
// prefix u16, hold u32 in ms.
const (
	fenceSize = 15
	softBit   = 0x80
)

// encode returns the payloads of an append by sequence, nil where there is nothing.
func encode(a invalidate.Append) (payloads [3][]byte, err error) {
	for seq, fences := range [][]invalidate.Fence{keySeq: a.Keys, scopeSeq: a.Scopes} {
		if len(fences) > invalidate.MaxFences {
			return payloads, fmt.Errorf("%w: %d fences for one record, at most %d", ErrAppend, len(fences), invalidate.MaxFences)
		}
		b := make([]byte, 0, fenceSize*len(fences))
		for i, f := range fences {
			if err := check(f, seq); err != nil {
				return payloads, fmt.Errorf("%w: fence %d: %w", ErrAppend, i, err)
			}
			kind := byte(f.Kind)
			if f.Soft {
				kind |= softBit
			}
			b = append(b, kind)
			b = binary.BigEndian.AppendUint64(b, f.Hash)
			b = binary.BigEndian.AppendUint16(b, uint16(f.Len))
			b = binary.BigEndian.AppendUint32(b, uint32(holdMillis(f.Hold)))
		}
		payloads[seq] = b
	}
	return payloads, nil
}

// decode returns the fences of a payload; false when it is not one that encode wrote.
func decode(b []byte, seq int) ([]invalidate.Fence, bool) {
	if len(b) == 0 || len(b)%fenceSize != 0 || len(b)/fenceSize > invalidate.MaxFences {
		return nil, false
	}
	fences := make([]invalidate.Fence, 0, len(b)/fenceSize)
	for ; len(b) > 0; b = b[fenceSize:] {
		f := invalidate.Fence{
			Kind: invalidate.Kind(b[0] &^ softBit),
			Soft: b[0]&softBit != 0,
			Hash: binary.BigEndian.Uint64(b[1:]),
			Len:  int(binary.BigEndian.Uint16(b[9:])),
			Hold: time.Duration(binary.BigEndian.Uint32(b[11:])) * time.Millisecond,
		}
		if check(f, seq) != nil {
			return nil, false
		}
		fences = append(fences, f)
	}
	return fences, true
}

func check(f invalidate.Fence, seq int) error {
	switch {
	case f.Kind < invalidate.KindKey || f.Kind > invalidate.KindAll || f.OfKeys() != (seq == keySeq):
		return fmt.Errorf("a %v, which has no place in this sequence", f.Kind)
	case f.Len < 0 || f.Len > math.MaxUint16 || f.Len > 0 && f.Kind != invalidate.KindPrefix:
		return fmt.Errorf("length of %d for a %v", f.Len, f.Kind)
	case f.Hold < 0 || holdMillis(f.Hold) > math.MaxUint32:
		return fmt.Errorf("hold of %v, must be 0 to %v", f.Hold, math.MaxUint32*time.Millisecond)
	}
	return nil
}

// holdMillis rounds up: a hold may be longer than asked for, and not shorter.
func holdMillis(d time.Duration) int64 {
	return int64(d/time.Millisecond) + min(int64(d%time.Millisecond), 1)
}
