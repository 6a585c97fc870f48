package sqllog

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// The sequences of a log, as the table numbers them. Arrays by sequence do not use index 0.
const (
	keySeq   = 1
	scopeSeq = 2
)

// bySeq holds one value for each sequence.
type bySeq[T any] [3]T

// A fence takes 15 bytes of a record, big-endian: kind u8 with softBit, hash u64, length of the
// prefix u16, hold u32 in ms. A record has an empty payload when it is a bump, or when it stands
// for rows that did not parse.
const (
	fenceSize = 15
	softBit   = 0x80
)

// encodeAppend checks what a Sync appends and returns its payloads, nil for an empty slice.
func encodeAppend(a invalidate.Append) (payloads bySeq[[]byte], err error) {
	for seq, fences := range [][]invalidate.Fence{keySeq: a.Keys, scopeSeq: a.Scopes} {
		if len(fences) > invalidate.MaxFences {
			return payloads, fmt.Errorf("%w: %d fences for one record, at most %d", ErrAppend, len(fences), invalidate.MaxFences)
		}
		for i, f := range fences {
			if err := check(f, seq); err != nil {
				return payloads, fmt.Errorf("%w: fence %d: %w", ErrAppend, i, err)
			}
		}
		if len(fences) > 0 {
			payloads[seq] = encode(fences)
		}
	}
	return payloads, nil
}

// encode returns the payload of fences that pass check.
func encode(fences []invalidate.Fence) []byte {
	b := make([]byte, 0, fenceSize*len(fences))
	for _, f := range fences {
		kind := byte(f.Kind)
		if f.Soft {
			kind |= softBit
		}
		b = binary.BigEndian.AppendUint64(append(b, kind), f.Hash)
		b = binary.BigEndian.AppendUint16(b, uint16(f.Len))              //nolint:gosec // check has limited it
		b = binary.BigEndian.AppendUint32(b, uint32(holdMillis(f.Hold))) //nolint:gosec // the same
	}
	return b
}

// decode returns the fences of a payload, and false when encode cannot have written it.
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
		return fmt.Errorf("a %v does not belong to this sequence", f.Kind)
	case f.Len < 0 || f.Len > math.MaxUint16 || f.Len > 0 && f.Kind != invalidate.KindPrefix:
		return fmt.Errorf("length of %d for a %v", f.Len, f.Kind)
	case f.Soft && f.Hold > 0:
		return fmt.Errorf("hold of %v on a soft fence", f.Hold)
	case f.Hold < 0 || holdMillis(f.Hold) > math.MaxUint32:
		return fmt.Errorf("hold of %v, must be 0 to %v", f.Hold, math.MaxUint32*time.Millisecond)
	}
	return nil
}

// holdMillis rounds up: a hold may be longer than requested, but not shorter.
func holdMillis(d time.Duration) int64 {
	return int64(d/time.Millisecond) + min(int64(d%time.Millisecond), 1)
}

// newID returns a random id in the form of the tables. It is never zero.
func newID() int64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:])                                   // documented never to fail
		if id := int64(binary.BigEndian.Uint64(b[:])); id != 0 { //nolint:gosec // the bits count
			return id
		}
	}
}
