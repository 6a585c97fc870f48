package redislog

import "github.com/twofold-go/twofold/invalidate"

// What the tests of the format reach for.
var (
	ParseID   = parseID
	FormatID  = formatID
	ReadReply = readReply
)

// Encode encodes as for the key stream, or for the scope stream.
func Encode(fences []invalidate.Fence, keys bool) (string, error) {
	return encode(fences, streamOf(keys))
}

// Decode decodes as from the key stream, or from the scope stream.
func Decode(payload string, keys bool) ([]invalidate.Fence, bool) {
	return decode(payload, streamOf(keys))
}

func streamOf(keys bool) stream {
	if keys {
		return keyStream
	}
	return scopeStream
}
