// Package redislog keeps the log of invalidations on Redis, through go-redis: a
// single server, Sentinel, or Cluster. It needs Redis 6.2 or newer, or a server
// that does the same.
//
// # Data
//
// A log is three keys of one slot, which never expire:
//
//	{<Prefix>}:m   hash    run and rep, the server that owns the epoch: its run id and
//	                       its replication id; wit, the witness (see below); ep and id,
//	                       the number and the id of the epoch; kl and sl, the last
//	                       position of each stream; ki and si, the ids of the records
//	                       there; hb, the last sync in unix seconds; b, the largest
//	                       Bound in ms
//	{<Prefix>}:k   stream  invalidations of keys
//	{<Prefix>}:s   stream  invalidations of prefixes, of tags and of everything; and
//	                       expiries, also those of keys
//
// Positions are <epoch>-<n>, dense within an epoch; [invalidate.At] packs them. A
// record has the fields t, the time in unix microseconds; d, its fences; and i, eight
// random bytes that are its id, and the id of the record before it. Where a record
// starts an epoch it has b, the position before it, in place of d. The number of an
// epoch is one above every number that the log or the caller knows. No rule reads a
// clock.
//
// # When a log is another log
//
// [Log.Sync] is one script. It writes before anything else, because a server that
// takes no writes must not renew a lease. Then it decides whether the log is still the
// one that its own notes and its caller know. It starts a new epoch when
//
//   - the run id differs: another process has the data, by a restart or a failover;
//   - the replication id differs: this process has followed another server since;
//   - the witness is gone: the notes were loaded, from a dump, from a primary or by
//     RESTORE, and not written here;
//   - a stream does not end where the notes say, with the record that they say: a key
//     was deleted, trimmed to nothing, restored or written to by others;
//   - the caller is ahead of the log, or knows another record at its place, or another
//     epoch of the same number.
//
// The witness is how the server holds the notes in memory, as OBJECT ENCODING tells. A
// hash that had a long field once keeps the form of a large one. No dump has that
// form, so a hash that was loaded has the compact one.
//
// What was trimmed away in the middle is for the reader to notice: positions are dense,
// and each record names the one before it.
//
// One thing leaves no trace in the server: copies of all three keys, made and put back
// by COPY or RENAME. The ids notice it as soon as a process comes that knows what was
// lost. Until then positions are used again, and no promise holds, not even for a
// process's own invalidations. Don't do that to a log; delete it.
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
// Every process reads the tail, and renews its lease four times in a Bound. A read costs
// Redis more than the records in it, so a process reads less often while many records come:
// it rests a thousandth of Bound for each record of the last read, from 2 ms to a hundredth
// of Bound. Where a fleet is too large for one Redis, a longer Bound helps first.
//
// All processes should have the same Bound: an invalidation that waits for the
// others to let go (Strict) waits for the largest that has synced since the log
// was last lost.
//
// Users limited by ACL need, on ~{<Prefix>}:*, the commands EVAL, EVALSHA,
// HSET, HMGET, XADD, XRANGE, XREVRANGE, XREAD, DEL and OBJECT, and TIME and INFO. Where
// package redistier uses the same client, a Sync removes cells, too: UNLINK on its keys.
// Where INFO is denied within scripts, Sync takes more round trips on one connection.
// Where OBJECT is denied, or where hash-max-listpack-value is 8192 or more, there is no
// witness, and the log warns once. A proxy must give each connection to one server, and
// to the same for as long as it lasts.
//
// The first replica that is attached to a server changes its replication id, and so
// does an hour without any replica after the last. Each costs one epoch, that is, the
// cached entries.
//
// # Tested servers
//
// The suite runs against redis-server from the PATH (Debian's 7.0.15 here), and against
// every binary that TWOFOLD_REDIS_SERVERS names.
package redislog
