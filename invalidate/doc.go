// Package invalidate says what is no longer true.
//
// A [Scope] names what an invalidation covers: one key, every key with a
// prefix, or everything that carries a tag. [Fences] is what one process
// remembers of the invalidations it has applied; every cached entry is judged
// against it when it is read. Nothing is ever searched for and deleted: an
// invalidation of a prefix or a tag costs the same whether it covers one entry
// or a million.
//
// # How an entry is judged
//
// Two things are written down before a value is fetched or loaded, together
// called its [Mark]: the process's tick, a counter that grows with every fence
// applied here, and the positions in the order of invalidations that all
// processes share. A value whose mark lies before a fence that covers it is
// dead, however late it arrives. That is the whole idea; the rest is making the
// check cost two loads:
//
//   - A generation counts the fences of whatever kind. An entry notes the one
//     it was last found clear at; while that is the latest, it is clear.
//   - A key fence stores its tick in a clock of 65,536 buckets, indexed by the
//     key's hash. An entry is clear while its bucket is not past the tick it
//     was last found clear at. Two keys may share a bucket, so a bucket that is
//     past sends the entry to an exact table of recent key fences, and an entry
//     found clear there notes the new tick.
//   - A scope fence (prefix or tag) stores its position in a table and bumps a
//     version. An entry that was last found clear under another version looks
//     up its tags, and the prefixes of its key of every length that was ever
//     fenced, in one pass.
//   - A flush kills everything born before it.
//
// # The order
//
// Without a log, positions are the process's own: wall-clock nanoseconds, made
// strictly increasing. They order what happens in this process exactly, and
// frames that other processes filled as well as the machines' clocks agree.
package invalidate
