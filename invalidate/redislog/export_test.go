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
