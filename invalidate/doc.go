// Package invalidate tells all processes which cached values are no longer true.
//
// A [Scope] names what an invalidation covers: one key, every key with a prefix, or
// everything that carries a tag. A fence is the trace of an invalidation in one process. A
// [Log] puts the invalidations of all processes into one order. A follower, inside package
// cache, keeps the fences of its process in step with the log. Callers use package cache;
// this page explains the protocol.
//
// # The promise
//
// Let an invalidation return nil at t. Then every read that starts after t + B, in any
// process, from any tier, returns a value whose load began after the invalidation. B is the
// log's bound, two seconds by default. In the calling process the promise holds at t. Settle
// of cache.Tiers waits for B, until it holds everywhere. While nothing is broken, other processes learn of the
// invalidation within about a millisecond, and within a hundredth of B while many
// invalidations come. B is how long a process that is cut off may go on without the log.
//
// The promise needs no wall clock, no synchronized clocks, and no message that must arrive.
// It assumes that the monotonic clocks of two machines differ in rate by less than one in a
// thousand.
//
// # An entry knows what can end it
//
// The invalidation of a key removes the entry of that key from the local tier. A tag, and a
// prefix that ends with a colon, are written once, in a place at which all entries that they cover
// look when they are read. Therefore an invalidation costs the same for one entry and for a
// million, and invalidations of other keys, tags and prefixes cost an entry nothing.
//
// An invalidation also covers values that are still being fetched or loaded. A value carries a
// Mark: what its process knew before it fetched or loaded the value. An invalidation that came
// after the Mark covers the value, even if the value arrives late.
//
// # Three parts
//
// The log. An invalidation is one record in a dense, totally ordered sequence that every
// process reads. There is one sequence for keys and one for everything else. The numbers are
// dense, so a process that misses records sees the gap. It then discards what these records may
// have covered. The records are ordered, so a value can say "as of record 17". A process that knows
// a later record that covers the value refuses it. A prefix or a tag is one append, even if it
// covers a million entries. No invalidation scans anything.
//
// The lease. A process may serve cached values only while it holds a Lease. It holds one when
// three things are true. It asked the log at most B ago for the records that it had missed. The
// log proved that it is the one that takes records. The process has applied the whole answer.
//
// Here is why the lease suffices. A record was written at a, by a call that returned at t. A
// lease that is valid at x was confirmed by a question asked at x − B or later. If the log
// answered that question after a, the answer had the record. If it answered before a, then
// the question was asked before a. Therefore x is before a + B, and t + B is not reached yet. Every
// question falls under one case or the other, even if messages were lost or late, or the reading
// process slept.
//
// The fenced cells. A value in the remote tier carries three things: the positions that its
// process had applied before its load began, the id of the log's epoch, and a random nonce.
// A process that loads claims the cell with a nonce. An invalidation of the key removes the
// cell. A fill succeeds only while its nonce is still in the cell, so a load that began before the
// removal cannot store its value after it. A reader also refuses a cell that is older than a record
// it knows, or that is of another epoch. For keys, either check would be enough. There are two
// because servers lose writes. Prefixes and tags have only the second check.
//
// # Built values
//
// A loader may build a value from other cached values, its parts. For each part, the built value
// carries the hash of its key, of each prefix of that key that ends with a colon, and all that the
// part itself carried. A fence of a key or a prefix covers it by these hashes, a fence of a tag by
// its tags. A prefix that does not end with a colon covers the built values of the prefix up to its
// last colon.
//
// An invalidation of a part does not remove the cell of what was built from it, so only the second
// check protects that cell. Suppose that a process misses a record of the sequence of keys, or
// starts after the log has trimmed it. It then refuses every older frame of a built value.
//
// # Expire
//
// An invalidation may be soft: what it covers becomes stale and stays usable as a stale
// value. Expire of package cache makes soft invalidations. A soft record leaves a soft fence,
// which is kept apart. An entry that a fence of each kind covers is dead, in either order.
//
// An entry that was marked before a soft fence is stale from the moment at which its process
// stored the fence. The entry notes that moment, so later fences do not move it. An entry
// that was loaded after the fence is fresh. A reader compares a frame of the remote tier with
// the position of the record. An older frame is stale: the reader may serve it and refresh
// it.
//
// The record of a soft fence goes into the sequence of prefixes and tags, even when it covers
// a key. The reason is the meaning of a gap. A process that misses a record of the sequence of
// keys still trusts frames, because the invalidation removed the cells first. A soft fence
// removes no cell. In the other sequence, a process that finds a gap discards frames as well, so it
// treats a missed soft record as an invalidation of everything. That costs loads, and serves
// nothing old as fresh. A process does the same when its version does not know soft records, or
// when too many invalidations wait for the log.
//
// # Epochs: when the log lost records
//
// A Redis that fails over loses its last writes. A Redis that restarts from a dump loses
// more. An operator may delete or restore a key. For this the log has epochs, each with a random
// id. A Sync starts a new epoch in each of these cases:
//
//   - another server has the log;
//   - the same server has loaded the log from somewhere;
//   - the sequences do not end where the log's own notes say;
//   - the caller knows more than the log, or other records. Every record has a random id, and
//     a caller sends the ids of the last records that it knows.
//
// A log may go back to an older state without any of these signs, and the process that asks may
// not know the lost records. Cells of the remote tier carry their positions. A process notes the
// positions of the cells that it serves. When a complete answer ends below a position that was
// noted before the question, records are lost. The process does not renew its lease. It shows
// the position to the log, as a caller that knows more than the log, and an epoch starts. Until
// then it may serve such a cell, within B. Without a loss the answer always reaches the position,
// because the cell's process had applied that record before it stored the cell.
//
// This check can miss a loss in two ways, so a log must notice a loss itself where it can. A
// process may meet no such cell before the log has used the lost positions again. Or a value of the
// lost history may be as of a position that the log still has. Call NewEpoch of package sqllog
// after an operation that the log cannot notice; its documentation names them.
//
// An epoch begins with one bump record in each sequence. Every process that reads it discards
// everything older. That costs O(1), because it only raises one floor.
//
// The numbers of epochs grow as long as a part of the log, or a process that knew it, is left. A
// fleet that restarts without either begins at 1 again. That is safe: a cell that survived
// elsewhere has the id of an epoch that no reader knows, and readers refuse it. No rule reads a
// wall clock.
//
// # When the log cannot be reached
//
// The lease runs out, and the process stops serving cached values. The exception is a value that
// this process loaded from the source itself less than B ago: the promise allows it without a
// log. The process loads everything else, a bounded number of loads at a time, and does not
// store it in the remote tier.
//
// An invalidation is applied in this process, kept in a bounded queue, and retried. After a
// quarter of a second, or InvalidateWait, the call returns a [*PendingError]. Other processes get
// no promise until the record is in the log. The retries back off with jitter: to about one a
// second, or two in a bound if that is longer. More calls do not cause more retries. In this
// process the invalidation holds as soon as the call has returned. Until the record is in the log,
// the process does not ask the remote tier. When too many invalidations wait, they become one
// invalidation of everything.
//
// When a node of the remote tier hangs, the cells on it cannot be removed. Each call removes
// its own cells, so calls with keys on other nodes do not wait. The call still writes its record,
// and every process that knows the record refuses the old cells. A goroutine removes the cells
// later, and then writes the record again. Until then the invalidation is pending.
//
// # When the data and the log are in one database
//
// A process that writes to its database and then to a log may die between the two writes.
// Package sqllog closes that gap. The transaction that writes the data also inserts a row that
// names what it invalidates. COMMIT makes both visible, or neither.
//
// The row has no number. Numbers that are assigned inside transactions either make writers
// wait for each other or become visible out of order. Instead, each Sync of any process first looks
// for such rows. It removes the cells of the keys that they name. Then, in one step, it assigns
// numbers and deletes the rows. A Sync that starts after COMMIT finds the row, or the record that
// replaced it, so the lease keeps its meaning.
//
// A record gets its number after the commit. A process whose mark includes the number began
// its load after the commit, and read the new value. A process whose mark does not include it
// may have read either value. Readers refuse that value, which costs a load.
//
// The cells are removed before the number is assigned, and not inside the transaction. A cell
// that the transaction removed could be filled again from the old data until COMMIT. When a
// cell cannot be removed, because the remote tier is down, the log fences the key like a prefix
// that covers only this key. Then no process needs the cell to be gone.
//
// # What is remembered
//
// What is in the local tier hears of an invalidation when it is applied: the invalidation of a key removes
// its entry, and every other one is written where the entries that it covers look. So no number of other
// invalidations ends an entry, with one exception: an entry that is not read while more than 4,096
// different prefixes that end inside an id of its namespace are invalidated.
//
// What is in flight is compared with a history: loads that run, by tick, and frames of the remote tier, by
// position. The history has at least the last 98,000 different keys and as many tags, and fewer prefixes;
// [FenceStats] says how far back that reaches. A load that is older answers its callers and is not stored.
// A reader refuses a frame with tags that is older than the newest forgotten tag, and the frame of a built
// value that is older than the newest forgotten key or prefix. An Expire is remembered in the same way. What
// a forgotten one may cover is dead, and not stale, because it is not known when it expired.
//
// # Without a log
//
// Positions are the process's own: wall-clock nanoseconds, made strictly increasing. Within this
// process their order is exact. For frames that other processes filled, it is as exact as the
// clocks of the machines agree.
//
// # Sources
//
// Leases are from Gray and Cheriton (SOSP 1989). The nonce on a cell is the lease token of
// Nishtala et al., Scaling Memcache at Facebook (NSDI 2013).
package invalidate
