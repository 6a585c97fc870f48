// Package collector fetches sources when they are due, and stores what they publish.
//
// # One fetch, step by step
//
//  1. At every tick, and whenever a fetch ends while more is due, the [Collector] claims
//     as many due sources as it has room for. A claim is a lease in the source's row:
//     two collectors on one database never fetch one source at the same time, and what
//     a collector had claimed when it died is free again when its leases run out.
//  2. Each lease is fetched in a goroutine of its own. There is no batch that a slow
//     source could hold up, and of one host only so many sources are claimed at a time.
//  3. What came of it is stored in one transaction with the end of the lease: items,
//     schedule, log. A lease that was lost meanwhile stores nothing.
//  4. Package schedule says when the source is due next.
//
// All state is in the database, so a restart forgets no timer.
//
// # Decisions
//
// The document this follows contradicts itself in nine places, C-E1 to C-E9. Each
// decision names the test that holds it.
//
//   - C-E1. Sources whose type has no fetcher are parked: they are counted, a warning
//     tells of each type once, and the query for what is due does not even read them.
//     (TestParkedTypesStarveNobody, TestDueIsFoundByAnIndex)
//   - C-E2. A type that is in no table has an interval, too. (TestUnknownTypeIsDueAgain)
//   - C-E3. Failures back off with full jitter. Five in a row pause a source, as
//     documented; it comes back by hand, by a probe where that is switched on, or by
//     being fetched by its number. (TestCase11FiveFailuresPause, TestResume, TestProbe,
//     TestFetchingAPausedSourceBringsItBack)
//   - C-E4. The status is the union of both documented forms, and what it says of 24
//     hours comes from a log of fetches. (TestCase14Status, TestCase14UnionOfBothForms)
//   - C-E5. After a success the next fetch is due an interval after the last one, to the
//     millisecond, unless the origin asks for more; a new source is fetched at once.
//     There is jitter after failures alone, and backoff_until shows them apart.
//     (TestCase15NextFetchAt, TestCase01NeverFetchedIsFetchedAtOnce)
//   - C-E6. There are no batches: a worker that is free claims the next source. Leases
//     keep collectors apart. (TestNoBatchBarrier, TestSlowSourceDelaysNoOther,
//     TestTwoCollectors)
//   - C-E7. What the environment says is read strictly, and refused at the start. The
//     process's environment wins over the .env file. (TestSettingsAreStrict,
//     TestEnvOfTheProcessWins)
//   - C-E8. COLLECTOR_INTERVAL is read where COLLECTOR_TICK is not set; one source can be
//     fetched whether it is due or not, paused or not. (TestCase18LegacyInterval,
//     TestCase17OneSource)
//   - C-E9. SQL gets values as arguments, also the names of types.
//     (TestTypeNamesAreArguments)
package collector
