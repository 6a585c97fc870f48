// Package follow keeps one process in step with a log of invalidations. [Fences] are what
// the process remembers of them and judges its entries by, a [Follower] keeps them up to
// date and appends to the log, a [Lease] says until when the process may trust what it
// knows. Package invalidate tells why this is enough.
//
// # Order
//
// Each of these rules has a counterexample when it is broken; package explore in
// internal tries every interleaving of a small model with and without them, and
// the stories in cache/testdata/log play the races against the real thing.
//
//   - Marks are captured before the fetch or the load they describe.
//   - Fences are stored before the applied position moves, the position before
//     the lease is extended; and readers take the lease first, fences second.
//   - Cells are removed before the record is written.
//   - An entry is judged when it is read, not when it is stored.
//   - Only an answer to a Sync extends the lease, and as of the moment the
//     question was asked. The tail, which brings records at once, proves nothing:
//     the server at its other end may have been deposed.
//
// # How an entry is judged
//
// The check costs a hit a few loads:
//
//   - A generation counts the fences of whatever kind. An entry notes the one
//     it was last found clear at; while that is the latest, it is clear.
//   - Keys are in 16,384 groups, by their hashes. Each group notes the generation
//     of its last fence, and so do all fences that are no key's, together. An
//     entry is clear while neither is past the generation it noted ([Fences.Since]).
//     If one is, the entry is judged anew, and notes the generation:
//   - A key fence stores its tick in a clock of 65,536 buckets. An entry is clear
//     of key fences while its bucket is not past the tick of its mark. Two keys
//     may share a bucket, so a bucket that is past sends the entry to an exact
//     table of recent key fences.
//   - A scope fence (prefix or tag) stores its tick in a table, and in one word for
//     all of them. If that is past the entry's tick, the entry looks up its tags, and
//     the prefixes of its key of every length that was ever fenced, in one pass.
//   - A flush kills everything marked before it.
//   - A soft fence is seen as a hard one of the same scope is: by the bucket of its
//     key, or by the word for all scopes. Its own table is asked last, about what is
//     clear. The entry stays clear, and notes when its freshness ended, before it
//     notes the tick. Such an entry is never found in the short way again.
//   - An entry that the tables found clear notes the tick at which they did, in
//     place of its mark's. It is not held against older fences again.
package follow
