// Package otter is an in-process tier on otter v2, an alternative to tier/local. It is a module
// of its own, so only programs that import it depend on otter. A program passes it to
// cache.TiersConfig as Local.
//
// Its guarantees beyond [tier.Local]:
//
//  1. A Set is visible to every goroutine when it returns. After a Set or a Delete, an older entry
//     never comes back. The entry stays at least until another Set or Delete: a Get evicts nothing,
//     and neither does the entry's own Set, except under contention (see below).
//  2. The costs of all entries plus [Overhead] for each stay within MaxBytes plus 5 % at every
//     instant. At rest they stay within MaxBytes plus the charge of the last Sets.
//  3. Entries that fit into MaxBytes together are all kept, if none takes more than a fifth of it.
//  4. Every entry that entered is reported to OnEvict exactly once when it leaves. Close reports
//     nothing. An entry that otter's admission refuses was visible before, and is reported as
//     Evicted. Rejected entries are too large for the tier.
//  5. The tier starts no goroutine that outlives a call.
//
// # When to choose it
//
// Choose it when you want otter's policy. tier/local takes as much memory for each entry, and its
// hits and writes are faster. The figures below compare with tier/ristretto.
//
// # How it keeps the contract
//
// otter's table is always current: it finds what was Set, and does not find what was replaced or
// removed. Its policy learns of changes later, by maintenance. Maintenance runs on goroutines, or
// on the caller's goroutine with an executor that runs its function at once. So otter alone has
// two weaknesses. It may exceed its maximum for a while, by as much as its buffer of writes has
// room for. With maintenance inside the Set, it may refuse an entry before its Set returns. This
// was measured with entries of 10 KiB, 20 KiB and 100 KiB, set into a tier of 4 MiB that a zipf
// trace kept full of hits: 13, 13 and 56 % were gone when their Set returned. In this tier none
// is (TestVisibleWhenFull).
//
// So the tier postpones maintenance. The executor only notes that maintenance is due, and the
// next Set or Delete does it before its own work. A Set charges its entry to the tier's own
// account before the entry is visible. When the entry does not fit into MaxBytes plus 5 %, the
// Set waits for maintenance. An entry larger than that 5 % makes room first.
//
// Under contention, while one call does maintenance, other calls may write as much as otter's
// buffer of writes has room for, 128 entries for each processor. A Set beyond that waits, and
// otter runs maintenance inside it after all.
//
// # What it costs
//
// A hit writes to otter's buffer of hits, which holds sixteen or a few times sixteen hits. Until
// the next Set, hits beyond that are not counted. On traces of mostly hits that costs no hits
// (see below).
//
// One entry may take a fifth of MaxBytes at most, and at most 64 GiB, because otter's weights
// have 32 bits and count units of 16 bytes. When an entry larger than 5 % of MaxBytes enters a
// full tier, otter's adaptive window starts over. So a tier with many such entries does not
// adapt.
//
// Evictions are reported under otter's locks. When a report panics there, otter logs the panic and
// discards it.
//
// An item of package cache contains the node of tier/local, 64 bytes, which this tier does not use.
// They are part of the item's cost.
//
// # What was measured
//
// The numbers are from the benchmarks of this package. All lines of one benchmark ran in one
// process. They are medians, with their range, on a shared machine of two cores: read them as
// ratios.
//
// Hit ratio in %, for a get and, on a miss, a set. Entries of 1 KiB, capacity 10,000 (traces of
// internal/trace, seed 1, a million accesses; zipf over 100,000 keys, in the last column over
// 11,111). Medians of three runs, which differ by 0.3, on loops and moving hot sets by up to
// three. "otter" is otter alone, bounded by a number of entries (BenchmarkHitRatio, -benchtime
// 1x):
//
//	                zipf 0.99  + 10 % scan  loop 1.5×  moving hot set  mostly hits
//	tier/otter        77.0        69.0        45.8         65.5           97.7
//	tier/ristretto    76.4        68.1        56.3         65.3           97.7
//	otter             75.4        67.4        53.5         51.3           97.4
//
// Time relative to tier/ristretto and to otter alone, 100,000 residents, with 1 / 2 goroutines
// (BenchmarkGet, eleven processes; BenchmarkSet and BenchmarkMixed, seven):
//
//	                      over tier/ristretto                    over otter
//	Get                   1.67 (1.09–2.76) / 2.15 (1.29–3.46)    0.79 (0.57–1.16) / 0.98 (0.52–2.91)
//	Set, new, full tier   0.23 (0.17–0.27) / 0.20 (0.14–0.31)    1.25 (0.69–2.23) / 1.12 (0.49–2.40)
//	Set over an entry     0.17 (0.14–0.23) / 0.17 (0.15–0.19)    1.52 (0.92–2.50) / 1.57 (1.34–2.24)
//	19 Get, 1 Set         0.56 (0.30–1.01) / 0.46 (0.31–0.63)    1.59 (0.98–2.04) / 1.91 (0.92–2.51)
//
// otter alone leaves its maintenance to goroutines that another core may run. While no core is
// free, maintenance waits. That is where otter alone writes faster, and where it loses hits.
//
// Heap in addition to the entry, in bytes, in a full tier of 5,000 to 500,000 entries that were all
// replaced once: 104 to 115, tier/ristretto 301 to 361, otter alone 96 to 108 (BenchmarkHeap,
// -benchtime 1x). Over more sizes, 94 to 117 were measured; [Overhead] is above that.
package otter
