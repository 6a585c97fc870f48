package store

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// EmptyHash is the hash of no source at all: SHA-256 of the empty string.
const EmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// JoinIDs spells a set of source ids: by number and not by text, so that 9 comes
// before 10, each once, separated by commas. It does not change ids.
func JoinIDs(ids []int64) []byte {
	ids = slices.Sorted(slices.Values(ids))
	var b []byte
	for i, id := range slices.Compact(ids) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return b
}

// Hash returns what a set of source ids hashes to: SHA-256 of [JoinIDs] in 64 digits of
// hex, whole. Cut to 16, as others have it, it would still never collide by chance,
// but it could be made to.
func Hash(ids []int64) string {
	sum := sha256.Sum256(JoinIDs(ids))
	return hex.EncodeToString(sum[:])
}
