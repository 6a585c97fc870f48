package redislog

import "github.com/twofold-go/twofold/invalidate"

// Internals that the tests of the format use.
var (
	ParseID  = parseID
	FormatID = formatID
)

// ReadReply reads a reply to a Sync at from, which appended two payloads.
func ReadReply(reply []any, from invalidate.Cursor, keys, scopes string) (invalidate.Page, error) {
	return readReply(reply, question{at: from, keys: keys, scopes: scopes, epoch: 1, keyID: 2, scopID: 3})
}

// ReplySize is the number of elements of a reply.
const ReplySize = replySize

// Encode encodes for the key stream, or for the scope stream.
func Encode(fences []invalidate.Fence, keys bool) (string, error) {
	return encode(fences, streamOf(keys))
}

// Decode decodes from the key stream, or from the scope stream.
func Decode(payload string, keys bool) ([]invalidate.Fence, bool) {
	return decode(payload, streamOf(keys))
}

func streamOf(keys bool) stream {
	if keys {
		return keyStream
	}
	return scopeStream
}
