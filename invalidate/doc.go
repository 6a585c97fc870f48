// Package invalidate says what is no longer true, in every process that has
// cached it.
//
// A [Scope] names what an invalidation covers: one key, every key with a
// prefix, or everything that carries a tag. Fences are what one process
// remembers of the invalidations it has applied. A [Log] is the order of
// invalidations that all processes share, and a Follower keeps a process's
// fences in step with it. Package cache uses all of this for its callers; this
// page teaches how it works.
//
// # The promise
//
// If an invalidation returned nil at t, then a read that starts after t + B, in
// any process, from any tier, returns a value whose load began after the
// invalidation. B is the log's bound, two seconds unless configured. In the
// calling process it is so at t; with [Strict], everywhere at t. While nothing
// is broken the others know within a millisecond or so, and within a hundredth of B
// while many invalidations come. B is how long a process flies blind when it is cut off.
//
// The promise rests on no wall clock, on no clock being in step with another,
// and on no message being delivered. It assumes that monotonic clocks of two
// machines run at rates that differ by less than one in a thousand.
//
// # Nothing is deleted, everything is judged
//
// An invalidation removes no entry from anybody's local tier. It leaves a fence,
// and every entry is judged against the fences when it is read. So it costs the
// same whether it covers one entry or a million, and it cannot be missed by an
// entry that is still on its way: a value carries what was known before it was
// fetched or loaded, its Mark, and a fence that came later covers it, however
// late it arrives.
//
// # Three parts
//
// The log. An invalidation is one record in a dense, totally ordered sequence
// that every process reads: one sequence for keys, one for everything else.
// Since numbers are dense, a process that misses records sees the hole, and
// gives up what they may have covered. Since records are ordered, a value can
// say "as of record 17", and whoever knows of a later record that covers it
// refuses it. Prefixes and tags are one append, whatever they cover; nothing is
// ever scanned.
//
// The lease. A process may serve what it has cached only while it holds a
// Lease: at most B ago it asked the log what it had missed, the log proved
// that it was the one that takes records, and the answer has been applied to
// the last record. Take a record that was written at a, by a call
// that returned at t. A lease that is good at x was confirmed by a question
// asked at x − B or later. If the question was answered after a, the answer had
// the record. If it was answered before, then it was asked before a, so x is
// before a + B, and t + B is not reached yet. There is no third case: a message
// that is lost, late, or read by a process that slept, ends in one of the two.
//
// The fenced cells. In the remote tier a value carries the positions that its
// process had applied before its load began, the id of the log's epoch, and a random
// nonce. A process that loads claims the cell with a nonce. An invalidation of the key
// removes the cell. A fill lands only where its nonce still stands. So a load that began
// before the removal can't land after it, and a reader refuses a cell that is older
// than a record it knows, or that is of another epoch than its own. Either net would do
// for keys; there are two because servers lose writes. For prefixes and tags there is
// the second alone.
//
// # What expires
//
// An invalidation may be soft: then it ends the freshness of what it covers, and not its
// life. Expire of package cache makes such ones. A soft record leaves a soft fence, in a
// table beside the other. What is covered by both is dead, whichever came first: the
// other table is asked first.
//
// An entry that was marked before a soft fence is stale from the moment at which the fence
// was stored in its process. It notes that moment, so that later fences move nothing. An
// entry that was loaded since is fresh. A frame is held against the position of the
// record: an older one is stale to the reader, who may serve it and refresh it.
//
// The record of a soft fence goes into the sequence of prefixes and tags, also when it
// covers a key. The reason is the hole: a process that misses a record of the sequence of
// keys goes on believing frames, because the cells were removed before. A soft fence
// removes no cell. In the other sequence a hole gives up frames as well. So a process that
// misses a soft record takes it for an invalidation of everything: that costs loads, and
// serves nothing old as fresh. The same is done by a process of a version that does not
// know soft records, and by one that has too many invalidations waiting for the log.
//
// # When the log itself is not what it was
//
// A Redis that fails over loses its last writes; one that restarts from a dump
// loses more; an operator deletes a key, or restores one. So the log has epochs, each
// with a random id. A Sync starts a new epoch when another server has the log, when the
// same server has loaded the log from somewhere, when the sequences do not end where
// the log's own notes say, and when the caller knows more than the log, or something
// else. For the last, every record has a random id, and a caller sends the ids of the
// records where it is. One bump record in each sequence begins the epoch. Every process
// that reads it gives up everything older, in O(1): the floor rises.
//
// The numbers of epochs only grow while anything is left of the log, or a process that
// knew it. A fleet that restarts without both begins at 1 again. Nothing rests on the
// number then: a cell that survived elsewhere is of an epoch that no reader knows, and
// is refused, whatever is invalidated. No rule reads a wall clock.
//
// # When the log cannot be reached
//
// The lease runs out, and what is cached stops being served, but for what this
// process has loaded from the source itself, less than B ago: that is within the
// promise without any log. Everything else is loaded, a bounded number at a
// time, and not stored in the remote tier. An invalidation is applied here, kept
// in a bounded queue, retried, and reported as a [*PendingError] after a quarter of a
// second or what the configuration says: no promise is given to other processes until it
// is through. The tries back off to about one a second, or to two in a bound where that
// is more, with jitter, however many calls come. In this process it holds from the
// moment the call returned: until its record is in the log, the process does not
// ask the remote tier. When too many wait they become one
// invalidation of everything.
//
// When a node of the remote tier hangs, the cells on it cannot be removed. A call
// removes its own cells, so calls with keys on other nodes are not held up. The
// record is written all the same, and every process that knows it refuses what
// the cells hold. A goroutine removes the cells later, and the record is written
// again behind that. Until then the invalidation is pending.
//
// # When the data and the log are one database
//
// A process that writes to its database and then says so to a log may die between the
// two. Package sqllog closes that gap: the transaction that writes the data also inserts a
// row that names what it makes untrue. COMMIT makes both visible, or neither.
//
// The row has no number. Numbers that are given inside transactions either make writers
// wait for each other or are visible out of order. So each Sync, of any process, looks for
// such rows first. It removes the cells of the keys that they name, and then gives them a
// number, in one step with taking the rows away. A Sync that was asked after COMMIT finds
// the row, or the record that took its place. So the lease means what it meant before.
//
// A number is given after the commit. A process whose mark has the number began its load
// after the commit, and read the new value. One whose mark has not may have read either,
// and what it brings is refused: that costs a load.
//
// Cells are removed before the number is given, and not before the commit: what is removed
// in the transaction can be loaded and stored again from the old data until it commits.
// Where a cell cannot be removed, because the remote tier is down, the key is fenced like
// a prefix that covers it alone. No process needs its cell to be gone then.
//
// # What is forgotten
//
// The tables remember at least the last 131,072 different keys, and as many tags and
// prefixes. Before older ones are forgotten, every entry of the local tier is judged
// once in the background, and notes the tick. So an entry dies by an invalidation
// that covers it, and not because too much else was invalidated. There are three
// exceptions, and [FenceStats] counts them: fences that come faster than entries can
// be judged (then 524,288 of each kind are remembered), a local tier that cannot
// show its entries, and a load that takes longer than 131,072 invalidations. In each
// the process cannot tell any more, and the entry or the load counts as covered.
//
// Frames in the remote tier are held against positions. A frame that is older than the
// newest forgotten prefix is refused, and so is one with tags that is older than the
// newest forgotten tag.
//
// Soft fences are remembered as long as the others, and as many of them. What may be
// covered by a forgotten one is dead, and not stale, since it is not known any more when
// it expired; this includes every frame that is older than the newest forgotten one of a
// key. The moments of soft fences are kept for good, to a millisecond for the latest
// 131,072 and coarser before.
//
// # Without a log
//
// Positions are the process's own: wall-clock nanoseconds, made strictly
// increasing. They order what happens in this process exactly, and frames that
// other processes filled as well as the machines' clocks agree.
//
// # Sources
//
// Leases are Gray and Cheriton's (SOSP 1989); the nonce on a cell is the lease
// token of Nishtala et al., Scaling Memcache at Facebook (NSDI 2013), and so is
// [Hold], their remote marker.
package invalidate
