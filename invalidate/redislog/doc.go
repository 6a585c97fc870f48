// Package redislog keeps the log of invalidations on Redis, through go-redis: on a single
// server, with Sentinel, or on a Cluster. It needs Redis 6.2 or newer, or a compatible server.
//
// # Data
//
// A log is three keys of one slot, which never expire:
//
//	{<Prefix>}:m   hash    run and rep, the server that owns the epoch: its run id and
//	                       its replication id; wit, the witness (see below); ep and id,
//	                       the number and the id of the epoch; kl and sl, the last
//	                       position of each stream; ki and si, the ids of the records
//	                       there; hb, the last sync that appended nothing, in unix
//	                       seconds, and kn and sn, its KeyRetention and ScopeRetention;
//	                       b, the largest Bound in ms; v, the version of
//	                       all this: a log of another version is refused, [ErrVersion]
//	{<Prefix>}:k   stream  invalidations of keys
//	{<Prefix>}:s   stream  invalidations of prefixes, of tags and of everything; and
//	                       expiries, also those of keys
//
// A position is <epoch>-<n>, dense within an epoch; [invalidate.At] packs it. A record has
// three fields. Field t is the time in unix microseconds. Field d has its fences. Field i has its id,
// eight random bytes, and the id of the record before it. A record that starts an epoch has b, the
// position before it, in place of d. The number of an epoch is one above every number that the log
// or the caller knows. No rule reads a clock.
//
// The fences are text, one in a line. XRANGE shows what was invalidated:
//
//	k default:users:v1:42     a key
//	p default:users:v1:       a prefix with its tenant; "p default:" is the whole tenant
//	t default:org:7           a tag after its tenant
//	a                         everything
//
// An expiry has "~" after the letter: k~ default:users:v1:42. A backslash in a text is written \\, and
// a control byte, or one that is not UTF-8, \x0a. A record that is written in another way is damaged: it
// may mean anything, so every process discards everything older.
//
// # Programs in other languages
//
// [Install] loads a Redis function. With it, redis-cli and clients in any language invalidate and expire by one
// command, and remove the cells of keys: see [Function]. Its text is also a script for servers without functions.
// Writers must not append to the streams in another way. Guide ../WIRE.md is the specification.
//
// # When a new epoch starts
//
// [Log.Sync] is one script. It looks at the version, and then writes before it does anything else,
// because a server that accepts no writes must not renew a lease. Then it checks that the log is the one that its own
// notes and its caller know. It starts a new epoch in each of these cases:
//
//   - The run id differs: after a restart or a failover, another process has the data.
//   - The replication id differs: this process has followed another server since.
//   - The witness is gone: the notes were loaded from a dump, from a primary or by RESTORE.
//   - A stream does not end where the notes say, with the record that they name: a key was
//     deleted, trimmed to nothing, restored, or written by another program.
//   - The caller is ahead of the log, or knows another record at its position, or another
//     epoch of the same number.
//
// The witness is the form in which the server holds the notes in memory, as OBJECT ENCODING
// shows it. A hash that once had a long field keeps the form of a large hash. No dump records
// that form, so a hash that was loaded has the compact form.
//
// The script does not check the middle of a stream. Readers do: positions are dense, and each
// record names the record before it.
//
// One change leaves no trace in the server: all three keys, copied or moved and put back by COPY,
// RENAME, MOVE or SWAPDB. The ids reveal it at the first Sync of a process that knows what was lost.
// Until then, positions are used again, and no guarantee holds, not even for a process's own
// invalidations. Do not copy, rename or move the keys of a log, and do not swap its database. Delete
// the keys instead.
//
// # What operators need to know
//
// The keys have no lifetime, so the eviction policy volatile-lru (or another volatile-*) does
// not evict them. The policy noeviction is fine while memory is left; without memory every Sync
// fails. Under allkeys-* Redis may evict the keys at any time. The log notices that, but each
// time costs the whole cache.
//
// A record of one key or tag takes 66 bytes if the text has 20 bytes, 89 with 40, and 157 with 100. So a
// log of the default sizes takes about 10 MB when each record holds one key or tag. A process
// that starts reads all of it once. That takes Redis a third of a second, in pieces of 3 ms.
//
// Behind Sentinel, set min-replicas-to-write to 1 and min-replicas-max-lag to a second or two.
// Then a primary that is cut off from the others soon takes no records. That lag is added to
// Bound, and in a Cluster cluster-node-timeout is. Processes that reach the old primary learn of
// the new one within Bound, if they reach a Sentinel. Persistence is optional: a log that comes
// back empty or old costs the cached entries and nothing else.
//
// Every process reads the tail, and renews its lease four times in a Bound. A read costs Redis
// more than the records in it, so a process reads less often while many records come. After each
// read it waits a thousandth of Bound for each record of that read, from 2 ms to a hundredth of
// Bound. When a fleet is too large for one Redis, first try a longer Bound.
//
// Use the same Bound in all processes. Settle of cache.Tiers waits for the largest Bound
// that has synced since the log was last lost.
//
// Users limited by ACL need, on ~{<Prefix>}:*, the commands EVAL, EVALSHA, HSET, HMGET, XADD,
// XRANGE, XREVRANGE, XREAD, DEL and OBJECT, and TIME and INFO, and in a Cluster CLUSTER SLOTS.
// When package redistier uses the same client, a Sync also removes cells: allow UNLINK on the keys
// of redistier. A user that only calls the function needs FCALL instead of EVAL, EVALSHA and XREAD. Where INFO is denied within scripts, Sync takes more round trips on one
// connection. Where OBJECT is denied, or where hash-max-listpack-value is 8192 or more, there is
// no witness, and the log warns once. A proxy must connect each connection to one server, and must
// not change that server while the connection lasts.
//
// A server gets a new replication id when its first replica attaches. It also gets one when it
// has had no replica for an hour. Each change costs one epoch: all cached entries.
//
// # Tested servers
//
// The suite runs against redis-server from the PATH (Debian's 7.0.15 here), and against every
// binary that TWOFOLD_REDIS_SERVERS names.
package redislog
