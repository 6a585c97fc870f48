// Package follow keeps one process in step with a log of invalidations. [Fences] record the
// invalidations that the process has applied, and judge its entries. A [Follower] keeps the fences
// up to date and appends to the log. A [Lease] says until when the process may trust its fences.
// Package invalidate explains why this is enough.
//
// # Order
//
// Each of these rules has a counterexample when it is broken. Package explore in internal tries
// every interleaving of a small model with and without them. The stories in cache/testdata/log play
// the races against the real code.
//
//   - Marks are captured before the fetch or the load they describe.
//   - Fences are stored before the applied position moves. The position moves before
//     the lease is extended. Readers take the lease first and the fences second.
//   - Cells are removed before the record is written.
//   - An entry is judged when it is read, not when it is stored.
//   - Only an answer to a Sync extends the lease, as of the moment of the question.
//     The tail delivers records quickly but proves nothing: its server may have
//     been deposed.
//   - It does not extend the lease while the answer ends below a frame that was
//     accepted before the question. Then the log has lost records.
//
// # How an entry is judged
//
// The check costs a hit a few loads:
//
//   - A generation counts all fences. An entry notes the generation at which it was last
//     found clear. While that is the latest generation, the entry is clear.
//   - Keys are in 16,384 groups, by hash. Each group notes the generation of its last
//     fence. All non-key fences share one such note. An entry is clear while neither
//     note is newer than the entry's generation ([Fences.Since]). Otherwise the
//     following checks judge the entry again, and it notes the generation:
//   - A key fence stores its tick in a clock of 65,536 buckets. An entry is clear
//     of key fences while its bucket is not newer than the tick of its mark. Two keys
//     may share a bucket, so a newer bucket sends the entry to an exact table of
//     recent key fences.
//   - A built value is checked in the same way by the key of each of its parts ([Deps]). A key fence
//     announces itself before it takes its tick, as other fences do: a load whose mark counts the
//     fence must not find a part clear of it.
//   - A scope fence (prefix or tag) stores its tick in a table, and in one word for
//     all of them. If that word is newer than the entry's tick, the table is searched for
//     the entry's tags. One pass also looks up the key's prefixes of every fenced length.
//   - A flush kills everything marked before it.
//   - Readers notice a soft fence as they notice a hard one: by the bucket of its key, or
//     by the word for all scopes. The soft table is searched last, and only for clear
//     entries. The entry stays clear. It notes first when its freshness ended, and then
//     the tick. The short checks never find such an entry again.
//   - An entry that the tables found clear notes the tick of that check in place of its
//     mark's tick. Older fences are not compared with it again.
package follow
