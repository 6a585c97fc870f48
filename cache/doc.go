// Package cache is a two-tier cache. The local tier is in the process; processes share the
// remote tier. One call reads through both and loads what neither holds.
//
// A process opens one [Tiers]: the tiers, the limits and the instruments. A [Cache] is a typed
// view of one namespace for one tenant. It is a small value. See the examples of [New], or the
// file TUTORIAL.md for one program that grows from a map to a fleet.
//
// # One look-up
//
//  1. The typed key is hashed and looked up in the local tier. A fresh entry of that key that no
//     invalidation covers is the answer. This takes no lock and allocates nothing.
//  2. An entry past its TTL but within Stale is also the answer, and a background refresh begins.
//     An early refresh does the same for a fresh entry.
//  3. Otherwise the caller joins the flight of the key, or leads a new one. The leader asks the
//     remote tier in one round trip. A hit ends the flight.
//  4. On a miss the leader claims the key in the remote tier, because one process in the fleet
//     should load. The others wait for its fill. One of them takes over if it dies.
//  5. The loader runs in its own goroutine. At most MaxLoads loaders run at a time. After
//     LoadTimeout its callers get ErrLoadTimeout. If an invalidation overtakes the load, the
//     loader runs again.
//  6. The loaded value goes to the remote tier by compare-and-set on the claim, then to the local
//     tier, then to all callers that wait.
//
// GetMany takes the same steps for many keys in bulk.
//
// # What to expect
//
//   - When Delete or Invalidate has returned, no later read in this process returns a value whose
//     load began before. With a log, no process does so after the log's bound, 2 seconds unless
//     configured.
//     [Tiers.Settle] waits that long: no process does so once it has returned.
//   - An invalidation that covers a value covers everything that a loader built from it.
//   - When Redis dies, reads use the local tier and then the source, with a limited number of loads
//     at a time. When Redis is back, reads use it again.
//   - When a load fails, the caller gets the old value if StaleIfError allows it, else the error.
//     A failure replaces no value. An invalidated value is never served in its place.
//   - When two processes race to load, one loads and the other takes its value from Redis.
//   - When a load races an invalidation, the invalidation wins.
//   - When the log is out of reach, cached values are served for at most one bound. After that a
//     process loads, and serves only what it loaded itself within the last bound.
//   - Without a log, Delete and Set reach other processes only through the remote tier: their local
//     copies live until LocalTTL, and prefixes and tags count only in this process.
//
// The file GUARANTEES.md numbers what the package guarantees, names the tests of each guarantee,
// and lists what is not promised. GLOSSARY.md explains the words, and OPERATIONS.md the
// instruments.
package cache
