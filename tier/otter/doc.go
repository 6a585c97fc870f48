// Package otter is an in-process tier on otter v2, beside the default one in
// tier/local. It is a module of its own, so that only those who import it
// depend on otter. A program gives it to cache.TiersConfig as Local.
//
// What it promises beyond [tier.Local]:
//
//  1. A Set is visible when it returns, to every goroutine, and an older entry
//     never comes back after it, nor after a Delete. The entry stays at least
//     until another Set or Delete: a Get evicts nothing, and nor does the
//     entry's own Set, but in a crowd (see below).
//  2. The costs of all entries plus [Overhead] for each stay within MaxBytes
//     plus 5 % at every instant, and within MaxBytes plus what the last Sets
//     brought at rest.
//  3. Entries that fit in MaxBytes together are all kept.
//  4. An entry that enters leaves once: it is reported to OnEvict exactly once,
//     unless it is still there at Close, which reports nothing. What otter's
//     admission turns away has been visible before, and is reported as Evicted;
//     Rejected are entries too large for the tier.
//  5. The tier starts no goroutine that outlives a call.
//
// # When to choose it
//
// Choose it when you want otter's policy. tier/local takes as much memory beside an
// entry, and its hits and writes are quicker. The figures below were taken when tier/local
// was what tier/ristretto is now, and name it so.
//
// # How it keeps the contract
//
// otter's table is right at once: what was Set is found, what was replaced or
// removed is not. Its policy learns of it later, by maintenance that runs on
// goroutines, or on the caller's with an executor that runs what it is given.
// By itself, then, otter holds for a while as much more as its buffer of writes
// has room for; and with maintenance inside the Set, it may refuse an entry
// before its Set returns. Of entries of 10 KiB, 20 KiB and 100 KiB set into a
// tier of 4 MiB that a zipf trace kept full of hits, 13, 13 and 56 % were gone
// when their Set returned; here none is (TestVisibleWhenFull).
//
// So maintenance is postponed. The executor only notes that it is due, and the
// next Set or Delete does it before its own work. A Set charges its entry to an
// account of the tier's own before the entry is visible, and waits for
// maintenance when 5 % above MaxBytes would not hold it; an entry larger than
// that makes room first. The crowd: while one call is at its maintenance, others
// may write as much as otter's buffer of writes has room for, 128 for each
// processor; a Set beyond that waits, and otter maintains in it after all.
//
// # What it costs
//
// A hit writes to otter's buffer of hits, which holds sixteen or a few times
// sixteen of them; those for which there is no room before the next Set are not
// counted. On traces of mostly hits that costs no hits (see below).
//
// One entry may take a fifth of MaxBytes at most, and 64 GiB, as otter's
// weights have 32 bits; they count in units of 16 bytes. Making room for an
// entry above 5 % of MaxBytes in a full tier makes otter's adaptive window
// start over, so a tier whose entries are often that large does not adapt.
//
// Evictions are reported under otter's locks, and a report that panics there is
// logged by otter and swallowed.
//
// An item of package cache brings along the node that tier/local would keep it
// in, 64 bytes which this tier has no use for. They are in the item's cost.
//
// # What was measured
//
// By the benchmarks of this package, all lines of one in one process. Medians,
// with their range, on a shared machine of two cores: read them as ratios.
//
// Hit ratio in %, get and on a miss set, entries of 1 KiB, capacity 10,000
// (traces of internal/trace, seed 1, a million accesses; zipf over 100,000 keys,
// in the last column over 11,111). Medians of three runs, which differ by 0.3,
// on loops and moving hot sets by up to three. "otter" is otter by itself,
// bounded by a number of entries (BenchmarkHitRatio, -benchtime 1x):
//
//	                zipf 0.99  + 10 % scan  loop 1.5×  moving hot set  mostly hits
//	tier/otter        77.0        69.0        45.8         65.5           97.7
//	tier/ristretto    76.4        68.1        56.3         65.3           97.7
//	otter             75.4        67.4        53.5         51.3           97.4
//
// Time over tier/ristretto's and over otter's by itself, 100,000 residents, at 1 / 2
// goroutines (BenchmarkGet, eleven processes; BenchmarkSet and BenchmarkMixed,
// seven):
//
//	                      over tier/ristretto                    over otter
//	Get                   1.67 (1.09–2.76) / 2.15 (1.29–3.46)    0.79 (0.57–1.16) / 0.98 (0.52–2.91)
//	Set, new, full tier   0.23 (0.17–0.27) / 0.20 (0.14–0.31)    1.25 (0.69–2.23) / 1.12 (0.49–2.40)
//	Set over an entry     0.17 (0.14–0.23) / 0.17 (0.15–0.19)    1.52 (0.92–2.50) / 1.57 (1.34–2.24)
//	19 Get, 1 Set         0.56 (0.30–1.01) / 0.46 (0.31–0.63)    1.59 (0.98–2.04) / 1.91 (0.92–2.51)
//
// otter by itself leaves its maintenance to goroutines that another core may
// run, or to nobody while none is free: that is where it is faster to write, and
// where it loses hits.
//
// Heap beside the entry, bytes, in a full tier of 5,000 to 500,000 entries all
// of which were replaced once: 104 to 115, tier/ristretto 301 to 361, otter by
// itself 96 to 108 (BenchmarkHeap, -benchtime 1x). 94 to 117 were seen over more
// sizes; hence [Overhead].
package otter
