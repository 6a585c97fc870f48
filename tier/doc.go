// Package tier defines the contracts between the cache and its two tiers: a [Local] tier in the
// process and a [Remote] tier that several processes share. It also defines the [Cell], the frame
// that processes exchange through the remote tier.
//
// All methods of both are required. So a type that embeds a tier has all of its methods.
//
// Tiers only keep bytes and pointers. The cache decides whether an entry may still be served when
// it reads the entry.
//
// # A remote tier of your own
//
// A store becomes a [Remote] by a loop if it can read a value and replace it if it has not
// changed. Read the frame, ask [Claim.Over] or [Fill.Over] for the change, and swap. If the swap
// fails, begin again. The example is a complete tier. Package tiertest has the conformance suite.
//
// # The frame
//
// All numbers are big-endian. The remote tier itself reads the first [HeaderSize] bytes and, for a
// refresh claim, rewrites part of them. Therefore their places never change:
//
//	 0      type: 'V' value, 'L' lease
//	 1..8   nonce, which every compare-and-set compares
//	 9..16  scope position \ what the filling process had applied of the
//	17..24  key position   / invalidation log before its load began
//	25..32  refresh until, milliseconds of the tier's clock
//	33      flags
//	34..41  soft expiry, unix ms
//	42..45  load time, ms
//	46      number of tags n, at most 64, then 8·n bytes of tag hashes, and after them
//	+0..7   hard expiry, unix ms
//	+8..15  load began, unix ms
//	+16..23 schema fingerprint
//	+24..31 key echo: the hash of the full key
//	+32..39 id of the log's epoch that the positions are of; 0 without a log
//	+40     length of the codec's id, then the id
//	+..     CRC-32C over type, positions and everything from the flags on
//	+..     payload
//
// With cache.TiersConfig.Secret the frame of a value is followed by a tag of 16 bytes. It covers the key
// and the whole frame but for bytes 1 to 8 and 25 to 32, which the remote tier rewrites. A tier keeps
// it like the rest of a frame.
//
// A cell with more than 64 tags, with parts, with [FlagOwnStale], or with a Keep has a long frame. Its
// byte 46 is 255, and 26 bytes follow before the hashes of the tags:
//
//	47..48  number of tags n
//	49..56  stale: how long it may be served beyond the soft expiry, ms
//	57..64  stale if error: how long beyond that in place of a failed load, ms
//	65..72  keep: how long beyond the hard expiry a load that replaces it may see it, ms
//
// The cell of a value with parts is long, too, and bit 2 of its flags is set. After its tags come
// the hashes of its parts' prefixes, those of their keys, and a word with the two numbers, 32 bits
// each. The number of tags counts all of these. A value with more than [MaxParts] has one key,
// invalidate.AnyTag: an invalidation of any key or prefix covers it.
//
// When a value has more than [MaxTags] tags, its cell has the first ones, and invalidate.AnyTag as
// the last. An invalidation of any tag covers such a cell.
//
// 9223372036854 ms mean forever. A process of the previous release takes a long frame for
// truncated, and loads the value itself.
//
// The frame of a lease has the type and the nonce. A lease frame with one more byte, 'E',
// is not a claim: it says for half a second that a long load has ended and stored nothing. Package
// cache fills it in place of the claim. A process of the previous release takes it for a claim.
//
// The checksum covers the header too, because a flipped bit in a tag or a position would hide an
// invalidation. It does not cover the nonce and the refresh time, which the remote tier rewrites in
// place. A flipped bit there can only make a compare-and-set fail, or delay a refresh.
package tier
