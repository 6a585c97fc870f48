// Package local is the in-process tier: one table, one byte budget, one goroutine at most.
//
// Its guarantees beyond [tier.Local]:
//
//  1. A Set is visible to every goroutine when it returns. After a Set or a Delete, an older entry
//     never comes back.
//  2. The costs of all entries plus [Overhead] for each never exceed MaxBytes.
//  3. Entries that fit into MaxBytes together are all kept, if none takes more than a fifth of it.
//  4. The tier holds no lock while it reports an entry.
//  5. No call waits for another, except for a mutex. The tier starts no goroutine, except for the
//     sweeps of guarantee 6. Close ends them.
//  6. It removes entries that have ended before it evicts others, and all of them within a minute.
//
// # The eviction policy
//
// A lock-free table finds every entry, so a hit is one probe. A hit writes to the entry's node,
// but at most three times between two visits of the CLOCK hand. New entries enter a window, which
// is first in, first out. An entry that leaves the window must be worth more than the entries
// that it displaces in the main part, where a CLOCK hand with two bits chooses the victims. Worth
// is how often a hash was seen lately, according to a sketch, divided by the bytes of the entry:
// TinyLFU (Einziger, Friedman and Manes, ACM TOS 2017). The window's share of the budget climbs
// to where the hit ratio is best, between 1 and 80 % (Einziger, Eytan, Friedman and Manes,
// Middleware 2018). It grows when the windows have more of the hits than of the bytes, and shrinks
// when they have far less. An entry that entered the main part of a full tier through left-over room is
// the first to compete with the next candidate.
//
// An entry that has ended does not compete. The table keeps the ends of a shard's entries in an array
// of their own, 4 bytes for each cell. A Set that finds no room searches the next 256 cells for
// ended entries. A sweep every 15 seconds finds the others. It also asks a quarter of the entries
// for their ends again, because an end may move. The sweeps stop while no entry has an end.
//
// Each shard has its own window, main part and sketch. A shard has about 16 MiB, and there are at
// most 64 shards. The shards share the budget and the window's share.
//
// # What was measured
//
// The table of hit ratios is in internal/bench/RESULTS.md, D. These are results of TestHitRatio,
// on one or two million accesses with entries of 1 KiB, for a capacity of 1,000 / 10,000 entries:
//
//	                 tier/ristretto  otter alone    this tier
//	zipf 0.99         58.0 / 77.5    57.8 / 76.3    57.0 / 77.6
//	  + 10 % scan     51.8 / 69.1    51.6 / 68.5    51.0 / 69.6
//	moving hot set    54.4 / 62.8    53.4 / 46.1    62.0 / 65.2
//	bursts             9.2 / 41.5    33.5 / 46.3    47.4 / 48.6
//	loop 1.5×         54.3 / 54.6    60.5 / 55.1    58.2 / 63.4
//	phases            40.4 / 56.5    40.8 / 54.5    47.9 / 57.4
//
// The same with costs of 16 B to 64 KiB by the key, and the capacity in entries of the mean cost:
//
//	zipf 0.99         58.1 / 79.7    56.9 / 76.4    60.5 / 78.9
//	  + 10 % scan     52.0 / 71.2    50.9 / 67.6    53.8 / 70.4
//	moving hot set    57.2 / 64.9    57.4 / 56.0    68.4 / 68.0
//	bursts            23.7 / 45.2    37.8 / 41.6    45.0 / 47.1
//	loop 1.5×         47.1 / 49.6    70.6 / 57.4    81.9 / 76.7
//	phases            44.4 / 59.7    41.2 / 55.6    52.3 / 64.1
//
// With lifetimes, beside a tier that was made of otter v2: hits in %, with the same room and TTLs.
//
//	                                  tier/local  without the ends  otter
//	drifting zipf, TTL 10 s                 53.3              49.9   53.3
//	drifting zipf, TTL 1 min                60.5              54.8   59.7
//	uniform, 4 times the room, TTL 10 s     24.7              22.3   23.8
//	long-lived beside a stream, TTL 1 s     94.5              82.0   93.7
//
// These tables are from before three changes: a first share of 5 %, the rules by the windows' part of
// the hits, and hits that age the sketch. In one run on 22 traces the changes raised the mean from 48.9
// to 52.6: a loop of twice the capacity 37.5 to 42.1 (at 10,000 entries 39.9 to 45.6), phases 43.4 to
// 46.4, a hot set of which a third is replaced now and then 93.6 to 95.2, keys that are read twice 5 to
// 23 (4 to 34), zipf 57.0 to 57.7. None lost more than 1.
//
// Alternatives that were measured and rejected:
//
//   - Halving the sketch after 20 uses for each word, not 30: 1.0 less in the mean.
//   - Comparing frequencies without the bytes lost one to three points on average where costs
//     differ.
//   - With shards of 2 MiB, which would be best for the table itself, a shard held too few large
//     entries to compare them: 4 to 8 points less on zipf.
//   - A period of the climb twice as long lost half a point on average. The tables are of periods
//     of five calls for each entry. Large tiers take two now: with five, a tier of 50,000 entries
//     had 62.4 instead of 69.0 on the moving hot set, in a million accesses.
//   - When entries that used left-over room were compared last, not first, sized zipf had
//     55.2 / 77.2.
//   - With grace for large entries, sized zipf had 64.4 / 80.8, but a few large entries flushed all
//     hot ones.
//
// Memory in addition to the entry itself, computed: a node of 40 bytes, which is part of an item of
// package cache, 23 to 28 bytes of the table, and 8 to 16 of the sketch. An int with an int value
// takes 147 bytes more than both in package cache, at a million entries (TestMemoryOfAnEntry).
//
// [github.com/twofold-go/twofold/tier/ristretto] is the tier on ristretto. It has the same
// guarantees, with a tolerance of 5 % of the budget.
package local
