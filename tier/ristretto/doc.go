// Package ristretto is an in-process tier on ristretto v2, which stands behind a
// synchronous front in one byte budget. It is for programs that know ristretto and want
// its policy; tier/local is what package cache opens by itself.
//
// What it promises beyond [tier.Local]:
//
//  1. A Set is visible when it returns, to every goroutine, and an older entry
//     never comes back after it, nor after a Delete.
//  2. The costs of all entries plus [Overhead] for each stay within MaxBytes
//     plus 5 % at every instant, and within MaxBytes plus about 2 % at rest.
//  3. Entries that fit in MaxBytes together are all kept.
//  4. An entry that enters leaves once: it is reported to OnEvict exactly once,
//     unless it is still there at Close, which reports nothing.
//  5. ristretto's two goroutines are the only ones, and end at Close.
//
// Less formally: one lock-free table finds every entry, so a hit is one probe
// and one bit, wherever the entry stands. Who may stay is decided twice. New
// entries live in the front, under a SIEVE hand for each shard; what the hand
// takes is offered to ristretto in batches, and its TinyLFU (Einziger, Friedman
// and Manes, ACM TOS 2017) admits, refuses or evicts. What leaves ristretto but
// was hit meanwhile goes back to the front.
//
// # The shape
//
// The front may use max(20 %, 60 % − main/2) of MaxBytes, main being the bytes
// beyond the front; ristretto may use 80 %. An empty tier is mostly front; a
// full one is 20/80; in between each byte that moves frees the next half, so
// that one insert moves about two victims and there is no cliff.
//
// # What was measured
//
// Hit ratio in %, get and on a miss set, entries of 1 KiB, capacity 1,000 /
// 10,000 entries (traces of internal/trace, seed 1; zipf over 100,000 keys and
// a million accesses). Medians of three runs; loop and moving hot set vary by
// one to three points between runs, more for ristretto without Wait, whose
// figures depend on how the machine schedules it; the others vary by 0.3:
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
// (These were taken with a counter of the sketch for each 128 bytes of MaxBytes. Entries of
// package cache are half of 1 KiB and less, overhead included, and with one for each 128,
// 64 and 48 bytes had 54.5, 56.2 and 57.2 % on zipf at 1,000, 75.7, 76.5 and 76.7 at 10,000,
// and 56.4, 54.1 and 54.0 on the moving hot set there, one run each. It is 64 now.)
//
// So entries come back, but not when they are hit: a hit only sets the bit,
// and the bit is read when ristretto lets go, which costs the hit path nothing.
// Against none back that gains two points on zipf, as much under a scan and
// seven to ten on loops, and loses two on the moving hot set. Bringing back all
// that was hit measures no worse, or a little better; only half may, so that
// every batch makes room. On loops ristretto alone stays ahead.
//
// Speed, 100,000 residents, zipf 0.99, at 1 / 2 goroutines. The machine was
// shared and its absolute times doubled between runs, so these are ratios taken
// within one process, medians of ten processes, with their range. A Get of the
// tier over ristretto's Get: 0.45 (0.32 to 0.60) / 0.28 (0.18 to 0.56) nearly
// full, 0.41 (0.29 to 0.57) / 0.25 (0.14 to 0.45) all in the front.
//
// Memory beside the entry itself, in a full tier of 5,000 to 500,000 entries all of
// which were replaced once: 301 to 361 bytes, by how full the maps are, the sketch
// included that MaxBytes does not count (BenchmarkHeap of tier/otter). An item of
// package cache brings its node along, which is 64 of them.
package ristretto
