// Package engine is the inside of package cache: one look-up, one load, one fill, one set. It knows
// entries, keys as text, claims and frames. It does not know the types of a cache; for those it asks a
// [store.Kind]. Package cache adds the types. The words are those of cache/GLOSSARY.md.
//
// Below it are, from the top down:
//
//	store     what this process holds and knows: tiers, lease, fences, entries by key, frames
//	filling   the handle of a running load: what it records, reads and waits for
//	entry     one cached value: its times, tags and parts, and whether a fence covers it
//	failure   the errors that callers compare
//
// # The states of a read
//
// A caller asks (Ask). The fast path answers from the local tier: one hash, one look-up, one reading
// of the clock, the lease, the fences (resident.View.Hit). Otherwise the ask joins the flight of the key, or
// leads a new one (Ask.join). The leader looks into the remote tier on its own goroutine, because that
// first step is nearly always the last. What is left to do becomes a party: a goroutine with its own
// context, and the runs of the flights that take the same steps (run.go has the diagram):
//
//	LOOK, then END, WAIT, CLAIM or LOAD; LOAD, then FILL; FILL, then END or LOOK again
//
// GetMany begins a party of many runs, which splits where the runs differ. So there is one path for
// one key and for a thousand.
//
// # Who owns what, and when
//
//	an Ask      the caller's goroutine; it lives on that stack
//	a flight    all its callers; its job and mark never change, the rest has its own locks
//	a run       the party's goroutine; runs are copied from party to party and have no locks
//	an Entry    its maker, until it is put into the local tier or given to a caller; then all. From
//	            then on only its state, seen, Ended and nextTry change, and the local tier takes it once
//	a claim     the run that was granted it, in the remote tier, until a fill, an invalidation, or ClaimTTL
//	an address  of the local tier: the lock of Core.PutsOf, for the check and the store together
//	a late      the timer's goroutine. It ends flights whose load is late, and never reads a run
//
// # Interleavings that matter
//
// A load races an invalidation. The mark is captured before the loader is called (party.attempt). If a
// fence that covers the value has come since, the load was overtaken: it is repeated while a caller
// waits, and its value is stored nowhere (flight.conclude, run.keepOrDrop). In the remote tier the
// invalidation has removed the claim, so the fill fails, and this process keeps nothing either
// (run.filled). Between the two, put asks the history again, under the locks of what the entry depends on (resident.Job.PutLocked).
//
// A hit races an invalidation of another process. The reader takes the lease first and then looks at the
// fences; the follower stores fences first and then extends the lease (lease.go of store). So either the
// fence is found, or the lease does not cover the present, or the invalidation is younger than the
// bound. If the reader looked at the fences first, both could happen between its two looks. It would miss
// the fence and see a lease that covers the present.
//
// A Set races a load of another process. The Set claims the cell before its record is written
// (seizeAll), over a value or another claim. The other load has then lost its claim. In the other order the
// Set could fill after a removal whose record every process forgets one day.
// Where the log can store cells, one step claims, writes the record and fills (Setting.once).
//
// A caller joins a flight that an invalidation has passed. Ask.joins refuses what it can know at that
// time; tags are known only when the load ends, so Ask.accepts asks again.
//
// # Refused alternatives
//
//   - Removing entries when an invalidation comes. A message may be late or lost, and a paused process
//     misses it. Entries are checked when they are read; removal only gives memory back.
//   - Waiting for the log in a read. While the log is out of reach, a process serves what it loaded
//     itself less than a bound ago, and loads.
//   - One goroutine for each flight. A remote hit then pays for a goroutine that it does not need, and
//     a GetMany for a thousand.
//   - A pool of goroutines for parties: it saves a tenth of a miss, and keeps profiler labels and test
//     bubbles of its first caller.
//   - Type parameters. Each further cache of a program then compiles the whole engine again: 240
//     functions in place of about 45. The price is one unsafe conversion, in itemOf of package cache,
//     whose guard is View.At of store: same Tiers, same space, and so the same types. Another one, in
//     resident.Of, leads from the node that the local tier holds to its entry.
//   - An interface in place of that conversion: a hit pays 6 % for it.
package engine
