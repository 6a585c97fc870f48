// Package local is the in-process tier: one table, one byte budget, no goroutine.
//
// What it promises beyond [tier.Local]:
//
//  1. A Set is visible when it returns, to every goroutine, and an older entry
//     never comes back after it, nor after a Delete.
//  2. The costs of all entries plus [Overhead] for each never exceed MaxBytes.
//  3. Entries that fit in MaxBytes together are all kept.
//  4. An entry that enters leaves once: it is reported to OnEvict exactly once,
//     unless it is still there at Close, which reports nothing.
//  5. The tier starts no goroutine, and no call waits for another but for a mutex.
//
// # Who stays
//
// A lock-free table finds every entry, so a hit is one probe, and three stores to
// the entry's node at most until the hand comes by. New entries enter a window, which
// is first in, first out. What leaves the window has to be worth more than what it
// displaces in the main part, where a CLOCK hand with two bits chooses the victims.
// Worth is how often a hash was seen lately, by a sketch, for each byte of the entry:
// TinyLFU (Einziger, Friedman and Manes, ACM TOS 2017). The window's share of the budget
// climbs to where the hit ratio is best, between 1 and 80 % (Einziger, Eytan, Friedman and
// Manes, Middleware 2018). An entry that got into a full tier because there was room left
// over is the first to be compared with the next.
//
// The window, the main part and the sketch are a shard's own; a shard has some
// 16 MiB, and there are 64 at most. Budget and window share are the tier's.
//
// # What was measured
//
// The table of hit ratios is in internal/bench/RESULTS.md, D. By TestHitRatio's way, on
// a million accesses or two with entries of 1 KiB, capacity 1,000 / 10,000 entries:
//
//	                 tier/ristretto  otter alone    this tier
//	zipf 0.99         58.0 / 77.5    57.8 / 76.3    57.0 / 77.6
//	  + 10 % scan     51.8 / 69.1    51.6 / 68.5    51.0 / 69.6
//	moving hot set    54.4 / 62.8    53.4 / 46.1    62.0 / 65.2
//	bursts             9.2 / 41.5    33.5 / 46.3    47.4 / 48.6
//	loop 1.5×         54.3 / 54.6    60.5 / 55.1    58.2 / 63.4
//	phases            40.4 / 56.5    40.8 / 54.5    47.9 / 57.4
//
// The same with costs of 16 B to 64 KiB by the key, capacity in the mean cost:
//
//	zipf 0.99         58.1 / 79.7    56.9 / 76.4    60.5 / 78.9
//	  + 10 % scan     52.0 / 71.2    50.9 / 67.6    53.8 / 70.4
//	moving hot set    57.2 / 64.9    57.4 / 56.0    68.4 / 68.0
//	bursts            23.7 / 45.2    37.8 / 41.6    45.0 / 47.1
//	loop 1.5×         47.1 / 49.6    70.6 / 57.4    81.9 / 76.7
//	phases            44.4 / 59.7    41.2 / 55.6    52.3 / 64.1
//
// What was tried on the way: comparing frequencies alone, without the bytes, lost one to
// three points on average where costs differ. With shards of 2 MiB, as the table alone would
// like them, a shard of large entries held too few to be judged: 4 to 8 points less on zipf.
// A period of the climb twice as long lost half a point on average. When what came by left-over
// room stood last in line, not first, sized zipf had 55.2 / 77.2. With grace for large entries
// it had 64.4 / 80.8, but a few of them flushed all that was hot.
//
// Memory beside the entry itself, in a full tier of 5,000 to 500,000 entries all of
// which were replaced once: 105 to 118 bytes (BenchmarkHeap of tier/otter). An item of
// package cache brings its node along, which is 64 of them.
//
// [github.com/twofold-go/twofold/tier/ristretto] is the tier on ristretto, with the same
// promises within 5 % of the budget.
package local
