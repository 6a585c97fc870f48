package sqllog

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// The sequences of a log, as the table numbers them. Arrays by sequence do not use index 0.
const (
	keySeq   = 1
	scopeSeq = 2
)

// bySeq holds one value for each sequence.
type bySeq[T any] [3]T

// encodeAppend checks what a Sync appends and returns its payloads, nil for an empty slice.
func encodeAppend(a invalidate.Append) (payloads bySeq[[]byte], err error) {
	for seq, fences := range [][]invalidate.Fence{keySeq: a.Keys, scopeSeq: a.Scopes} {
		if err := logwire.Check(fences, seq == keySeq); err != nil {
			return payloads, fmt.Errorf("%w: %w", ErrAppend, err)
		}
		if len(fences) > 0 {
			payloads[seq] = encode(fences)
		}
	}
	return payloads, nil
}

// encode returns the payload of fences that pass logwire.Check. A record has an empty payload when it
// is a bump, or when it stands for rows that did not parse.
func encode(fences []invalidate.Fence) []byte { return logwire.Fixed.Encode(fences) }

// decode returns the fences of a payload, and false when encode cannot have written it.
func decode(b []byte, seq int) ([]invalidate.Fence, bool) {
	return logwire.Fixed.Decode(b, seq == keySeq)
}

// newID returns a random id in the form of the tables. It is never zero.
func newID() int64 { return int64(logwire.NewID()) } //nolint:gosec // the bits count
