package redislog

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// stream is one of the two streams of a log.
type stream uint8

const (
	keyStream stream = iota + 1
	scopeStream
)

// encode returns the payload of a record, "" for no fences. Another layout must use another field
// name. Then older versions find no fences, and discard everything older.
func encode(fences []invalidate.Fence, s stream) (string, error) {
	if err := logwire.Check(fences, s == keyStream); err != nil {
		return "", fmt.Errorf("%w: %w", ErrAppend, err)
	}
	return string(logwire.Compact.Encode(fences)), nil
}

// decode returns the fences of a payload. It returns false when any part is invalid.
func decode(payload string, s stream) ([]invalidate.Fence, bool) {
	return logwire.Compact.Decode([]byte(payload), s == keyStream)
}
