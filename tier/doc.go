// Package tier holds the contracts between the cache and the two places it
// keeps things: a [Local] tier in the process and a [Remote] tier that several
// processes share. It also holds the [Cell], the one frame that travels
// between processes.
//
// The interfaces have four methods at most. A tier that can do more says so by
// an optional interface ([Batcher], [EvictNotifier], [Meter], [Ranger], [Validator],
// [Pinger]); the helper beside each falls back for tiers that cannot.
//
// Nothing here decides whether an entry may still be served. Tiers keep bytes
// and pointers; the cache judges them when it reads.
//
// # A remote tier of your own
//
// A store that can read a value and replace it if nobody else did becomes a [Remote]
// by a loop: read the frame, ask [Claim.Over] or [Fill.Over] what becomes of it, swap,
// and begin again when the swap fails. The example is a whole one. Package tiertest
// has the conformance suite for it.
//
// # The frame
//
// All numbers are big-endian. The first [HeaderSize] bytes are read and, for a refresh
// claim, partly rewritten inside the remote tier, so their places are fixed for good:
//
//	 0      type: 'V' value, 'L' lease, 'H' hold
//	 1..8   nonce, which every compare-and-set compares
//	 9..16  scope position \ what the filling process had applied of the
//	17..24  key position   / invalidation log before its load began
//	25..32  refresh until, milliseconds of the tier's clock
//	33      flags
//	34..41  soft expiry, unix ms
//	42..45  load time, ms
//	46      number of tags n, at most 64, then 8·n bytes of tag hashes, and behind them
//	+0..7   hard expiry, unix ms
//	+8..15  load began, unix ms
//	+16..23 schema fingerprint
//	+24..31 key echo: the hash of the full key
//	+32..39 id of the log's epoch that the positions are of; 0 without a log
//	+40     length of the codec's id, then the id
//	+..     CRC-32C over type, positions and everything from the flags on
//	+..     payload
//
// A cell with more than 64 tags, with [OwnStale] or [Unfresh], or with a Keep has a long
// frame. Its byte 46 is 255, and between it and the hashes of the tags are 26 bytes:
//
//	47..48  number of tags n
//	49..56  stale: how long it may be served beyond the soft expiry, ms
//	57..64  stale if error: how long beyond that in place of a failed load, ms
//	65..72  keep: how long beyond the hard expiry a load that replaces it may see it, ms
//
// Of a value with more than [MaxTags] tags the cell has the first ones, and invalidate.AnyTag
// as the last: any tag that is invalidated covers it.
//
// 9223372036854 ms mean for ever. A process of the release before refuses a long frame as
// truncated, and loads the value itself.
//
// A lease or a hold is its type and nonce alone.
//
// The checksum covers the header too, because a flipped bit in a tag or a position
// would hide an invalidation. It leaves out the nonce and the refresh time, which the
// remote tier rewrites in place. A flip there can only lose a compare-and-set or delay
// a refresh.
package tier
