// Package fence holds the invalidations that one process has applied, and compares cached entries
// with them. It starts no goroutine and asks no log: package follow does. [Fences] is the table.
// [Deps] is what an entry depends on. A [Mark] is what the process knew when it fetched or loaded
// something.
//
// # How an entry is checked
//
// The check costs a hit a few loads:
//
//   - A generation counts all fences. An entry notes the generation at which it was last
//     found clear. While that is the latest generation, the entry is clear.
//   - Keys are in 16,384 groups, by hash. Each group notes the generation of its last
//     fence. Groups of tags and of namespaces do the same, for the fences of tags and prefixes.
//     An entry is clear while none of its notes is newer than its generation ([Fences.Since],
//     [Fences.DepsSince]). Otherwise the following checks decide, and it notes the generation:
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
//   - A fence of everything covers what was marked before it.
//   - Readers notice a soft fence as they notice a hard one: by the bucket of its key, or
//     by the word for all scopes. The soft table is searched last, and only for clear
//     entries. The entry stays clear. It notes first when its freshness ended, and then
//     the tick. The short checks never find such an entry again.
//   - An entry that the tables found clear notes the tick of that check in place of its
//     mark's tick. Older fences are not compared with it again.
package fence
