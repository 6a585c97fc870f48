// Package redislog keeps the log of invalidations on Redis, through go-redis: a
// single server, Sentinel, or Cluster. It needs Redis 6.2 or newer, or a server
// that does the same.
//
// # Data
//
// A log is three keys of one slot, which never expire:
//
//	{<Prefix>}:m   hash    run, the server process that owns the epoch; ep, the epoch;
//	                       kl and sl, the last id of each stream; hb, the last sync in
//	                       unix seconds; b, the largest Bound in ms; mark, what tells
//	                       the epoch from another of the same number
//	{<Prefix>}:k   stream  invalidations of keys
//	{<Prefix>}:s   stream  invalidations of prefixes and tags
//
// Ids are <epoch>-<n>, dense within an epoch; [invalidate.At] packs them into a
// position. A record has the fields t, the time in unix microseconds, and d, its
// fences; or t and b, the id before it, where it starts an epoch. Epochs are
// seconds of the server's clock, or one above the highest that the server or the
// caller knows, whichever is more.
//
// [Log.Sync] is one script. It writes before anything else, because a server
// that takes no writes must not renew anybody. It starts an epoch when the
// server is another process than the one that wrote the last record (a replica
// promoted, a restart from a dump: either may have lost records), when a key was
// deleted, trimmed to nothing, restored or written to by others, or when the
// caller knows a later record, or another epoch of this number: a server that
// loses all it has and starts twice within a second begins the same epoch twice,
// and the first of those who knew the one before puts an end to it. What was trimmed away in the middle is for the
// reader to notice: positions are dense.
//
// # What operators need to know
//
// The keys have no lifetime, so the policy volatile-lru (or another volatile-*)
// leaves them alone, and so does noeviction with room to spare: without room
// every Sync fails. Under allkeys-* Redis evicts them at will; that is noticed,
// and costs the whole cache each time.
//
// A log of the default sizes takes some 4 MB when records hold one key or tag
// each. A process that starts reads all of it once, which takes Redis a third of
// a second in pieces of 3 ms.
//
// Behind Sentinel set min-replicas-to-write to 1, so that a primary cut off from
// the others takes no records; processes that reach it learn of the new one
// within Bound, if they reach a Sentinel. A Cluster sees to this by itself within
// cluster-node-timeout. Persistence is optional: a log that comes back empty or
// old costs the cached entries and no more.
//
// All processes should have the same Bound: an invalidation that waits for the
// others to let go (Strict) waits for the largest that has synced since the log
// was last lost.
//
// Users limited by ACL need, on ~{<Prefix>}:*, the commands EVAL, EVALSHA,
// HSET, HMGET, XADD, XRANGE, XREVRANGE, XREAD and DEL, and TIME and INFO. Where
// INFO is denied within scripts, Sync takes two round trips on one connection.
// A proxy must give each connection to one server, and to the same for as long
// as it lasts.
package redislog
