// Package ristretto is an in-process tier on ristretto v2, behind a synchronous front with the same
// byte budget. It is for programs that want ristretto's policy. Package cache opens tier/local by
// default.
//
// Its guarantees beyond [tier.Local]:
//
//  1. A Set is visible to every goroutine when it returns. After a Set or a Delete, an older entry
//     never comes back.
//  2. The costs of all entries plus [Overhead] for each stay within MaxBytes plus 5 % at every
//     instant, and within MaxBytes plus about 2 % at rest.
//  3. Entries that fit into MaxBytes together are all kept, if none takes more than a fifth of it.
//  4. The tier holds no lock while it reports an entry, except for evictions: these run under the lock that
//     serializes them.
//  5. The only goroutines are ristretto's two, and the sweeps of guarantee 6. Close ends them.
//  6. It removes all ended entries within a minute. It removes them before it moves others out of the
//     front.
//
// Less formally: one lock-free table finds every entry, so a hit is one probe and one bit in both
// parts. Two policies decide what stays. New entries live in the front, under one SIEVE hand for
// each shard. The victims of the hand are offered to ristretto in batches. Its TinyLFU (Einziger,
// Friedman and Manes, ACM TOS 2017) admits, refuses or evicts. An entry that leaves ristretto
// returns to the front if it was hit meanwhile.
//
// # The shape
//
// The front may use max(20 %, 60 % − main/2) of MaxBytes, where main is the bytes outside the
// front. ristretto may use 80 %. An empty tier is mostly front; a full one is 20/80. In between,
// each byte that moves to main lowers the front's limit by half a byte. One insert therefore moves
// about two victims, and the limit never jumps.
//
// # What was measured
//
// Hit ratio in %, for a get and, on a miss, a set. Entries of 1 KiB, capacity 1,000 / 10,000
// entries (traces of internal/testkit/trace, seed 1; zipf over 100,000 keys and a million accesses).
// Medians of three runs. Loop and moving hot set vary by one to three points between runs.
// ristretto without Wait varies more, because it depends on how the machine schedules it. The
// others vary by 0.3:
//
//	                                        zipf 0.99    + 10 % scan  loop 1.5×    moving hot set
//	ristretto alone                         51.1 / 64.9  44.0 / 55.1  58.1 / 62.2   5.3 /  6.7
//	ristretto alone, Wait after every Set   51.9 / 75.1  44.1 / 66.1  53.5 / 54.4  23.6 / 28.4
//	front + ristretto, none back            55.1 / 75.1  48.6 / 66.8  42.3 / 38.7  59.4 / 68.7
//	  back at the first hit                 55.3 / 76.1  49.0 / 67.5  43.8 / 36.8  60.6 / 68.1
//	  back at the second hit                55.5 / 76.1  49.2 / 67.5  42.2 / 38.4  60.2 / 68.4
//	  every hit counted, none back          54.2 / 76.5  47.3 / 67.9  47.5 / 41.8  58.1 / 67.6
//	  back when dropped, all that was hit   57.1 / 76.7  51.0 / 68.3  52.2 / 50.2  58.7 / 67.2
//	  back when dropped, half (kept)        57.1 / 76.6  50.9 / 68.3  49.5 / 48.8  57.0 / 67.1
//
// These were measured with one counter of the sketch for each 128 bytes of MaxBytes. Entries of
// package cache take half of 1 KiB or less, including overhead. For them, a counter for each 128,
// 64 and 48 bytes gave these hit ratios, in one run each: 54.5, 56.2 and 57.2 % on zipf at 1,000;
// 75.7, 76.5 and 76.7 % on zipf at 10,000; 56.4, 54.1 and 54.0 % on the moving hot set at 1,000.
// The tier uses 64 bytes.
//
// Therefore entries come back, but not when they are hit. A hit only sets the bit, and the drainer
// reads the bit when ristretto drops the entry. That costs the hit path nothing. Compared with none
// back, it gains two points on zipf, as much under a scan and seven to ten on loops. It loses two
// on the moving hot set. Bringing back everything that was hit is as good, or a little better.
// Only half may come back, because every batch must make room. On loops, ristretto without the
// front stays ahead.
//
// Speed with 100,000 residents, zipf 0.99, with 1 / 2 goroutines. The machine was shared and its
// absolute times doubled between runs. Therefore these are ratios within one process: medians of
// ten processes, with their range. A Get of the tier relative to ristretto's Get: 0.45 (0.32 to
// 0.60) / 0.28 (0.18 to 0.56) nearly full, 0.41 (0.29 to 0.57) / 0.25 (0.14 to 0.45) all in the
// front.
//
// Memory in addition to the entry itself, in a full tier of 5,000 to 500,000 entries that were
// all replaced once: 301 to 361 bytes. It depends on how full the maps are, and includes the
// sketch, which MaxBytes does not count (measured beside tier/local). 64 of these bytes are the
// node, which is part of an item of package cache.
package ristretto
