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

// Encode returns the payload of fences of the key stream, or of the scope stream.
func Encode(fences []invalidate.Fence, keys bool) (string, error) {
	a := invalidate.Append{Scopes: fences}
	if keys {
		a = invalidate.Append{Keys: fences}
	}
	q, _, err := New(nil, Config{}).args(invalidate.Cursor{}, a)
	return q.keys + q.scopes, err
}

// Decode decodes from the key stream, or from the scope stream.
func Decode(payload string, keys bool) ([]invalidate.Fence, bool) {
	e := entry{id: "1-1", payload: payload, ids: "01234567abcdefgh"}
	r := e.record(keys, 0)
	return r.Fences, !r.Damaged
}
