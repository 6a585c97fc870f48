// Package cache is a two-tier cache: a local tier in the process, a remote
// tier shared by processes, and one call that reads through both, loads what
// is in neither, and says what it did.
//
// [Tiers] is what a process has one of: the tiers, the limits, the instruments.
// [Cache] is a typed view of one namespace for one tenant; it is a small value.
//
// # One look-up
//
//  1. The typed key is hashed and looked up in the local tier. An entry of that
//     key that is fresh and covered by no invalidation is the answer: no lock,
//     no allocation, one reading of the clock.
//  2. An entry past its TTL but within Stale is the answer too, and a refresh
//     is started behind it; so is a fresh one that is due for an early refresh.
//  3. Otherwise the caller joins the key's flight or leads it. The leader asks
//     the remote tier: one round trip, and a hit is the end of it.
//  4. On a miss it claims the key there, so that one process in the fleet
//     loads; the others wait for its fill, or take over when it dies. When the
//     load stores nothing, they load side by side.
//  5. The loader runs in a goroutine of its own, in its turn among MaxLoads,
//     for at most LoadTimeout; then its callers get ErrLoadTimeout. An invalidation that comes meanwhile makes it
//     run again.
//  6. What it returned goes to the remote tier by compare-and-set on the claim,
//     then to the local tier, then to everybody who waits.
//
// GetMany goes the same way with many keys: it looks, claims, loads and fills in bulk, and
// keys that differ after a step go on apart.
//
// # Guarantees
//
// Each names the test that holds it.
//
//  1. One load. However many callers in however many processes ask for one
//     absent key at once, its loader runs once. A process waits for one load of
//     another process. When that load stored nothing, the processes that waited
//     load side by side. When its process died, one of them takes over.
//     (TestOneLoadForAll, TestRedisSetups, TestOneRefreshInTheFleet,
//     TestWaitingCostsOneLoad, TestOneProcessTakesOver)
//  2. Your own patience. A caller waits no longer than its own context allows
//     (one that is cancelled, rather than past its deadline, in the middle of a
//     call to the remote tier may notice at RemoteTimeout), and nobody's result
//     depends on another caller's context. When the last caller leaves, the
//     load's context is cancelled. A read waits for one load of another process
//     at most, whatever becomes of it. SoftTimeout counts once for a call. Loaders that
//     read each other's keys do not wait for ever: one of them gets ErrRecursive.
//     (TestCancelledFirstCallerHarmsNobody, TestLastToLeaveCancelsTheLoad,
//     TestWaitingCostsOneLoad, TestGetManySoftTimeout, TestCrossedLoads)
//  3. Read your writes. When a load or Set has returned, the next read in this
//     process sees that value or a newer one.
//     (TestReadYourWrites, TestSetDuringLoad)
//  4. Invalidated means gone. When Delete, DeleteAll or Invalidate has returned,
//     no read that starts afterwards in this process returns a value whose load
//     began before it: not from either tier, not from a load that was under way,
//     not as a stale value, not in place of an error. With a log that is so
//     whatever the call returned, unless it refused its arguments.
//     (TestInvalidatedIsNeverServedStale, TestInvalidateDuringLoad,
//     TestInvalidateDuringFill, TestDeleteRacesOlderLoads,
//     TestOwnReadsAfterPendingError, TestModel)
//  5. Dependencies flow outward. A value that was built from other cached
//     values carries their tags, also when reading them was a hit. It also
//     carries the oldest moment at which each of them was known to be true,
//     and counts as no younger than that. A value with more than 256 tags is
//     invalidated with any tag, so it may die early and never late.
//     (TestOuterInheritsTags, TestBuiltValuesKeepTheBound, TestTagsBeyondTheLimit)
//  6. A remote tier that fails costs time, never an answer. Each call to it has
//     its own deadline, RemoteTimeout; after five failures in a row it is left
//     alone for a second. The deadlines of callers with less time count, too,
//     once no call has succeeded for a RemoteTimeout. A read spends at most one
//     deadline on a tier that does not answer, then serves what this process
//     holds, or loads. A node of a Cluster that hangs delays its own keys.
//     (TestRemoteFaults, TestRedisFaults, TestRedisFailover,
//     TestHungRedisAndShortDeadlines, TestRedisHungNode,
//     TestImpatientCallersOfAHungTier, TestLostAnswerToAClaim)
//  7. Never wrong bytes. A frame of the remote tier that is corrupt, truncated,
//     of another key, of another type, older than a known invalidation, or of
//     an epoch of the log that the reader does not know is a counted miss.
//     (TestUnreadableCells, TestCellBitFlips, FuzzParseCell,
//     TestSurvivingCellsOfALostLog)
//  8. Failures are not values. A load error replaces no good value and is
//     remembered only when the policy asks for it (ErrorTTL). While an old value is
//     served in place of a failed load, each process asks the source for the key at
//     most once a Throttle. A loader's panic reaches
//     every caller that waits for it and leaves nothing locked.
//     Neither does the failure of one key of a batch become the absence of another.
//     (TestRememberedErrorKeepsTheOldValue, TestWhichErrorsAreRemembered,
//     TestThrottle, TestPanicReachesEveryWaiter,
//     TestGoexitInLoader, TestLoadManyAnswers)
//  9. Everything is bounded: bytes, flights, loads, refreshes, tags, key and
//     value sizes, what a frame of the remote tier may decode to, and the
//     tenants that are counted apart.
//     (TestBudgetHolds, TestMaxLoadsIsATrueBound, TestTagLimits, TestMaxFlights,
//     TestMaxTenants, TestMaxRefreshesOfANamespace, TestFrameIsBoundedByMaxValueBytes)
//     An entry leaves by its age, by the budget, or by an invalidation that
//     covers it. How many other keys, tags and holds there are does not matter;
//     what that takes, and what overflow costs, is in Stats.Fences.
//     (TestDeletesOfOtherKeys, TestSetsWithRoom, TestManyTags, TestManyHolds)
//  10. The same everywhere, with a log. If Invalidate, Delete or DeleteAll
//     returned nil at t, then any read that starts after t + B, in any process
//     on the same log, from any tier, returns a value whose load began after
//     the invalidation; with invalidate.Strict, any read that starts after t. B
//     is the log's bound, 2 s unless configured; the rates of two machines'
//     monotonic clocks may differ by a thousandth of it. It holds whatever
//     happens to messages, connections, processes and the log's servers: also
//     when a server is put back to what it was, and the first process to come
//     knows nothing of what was lost. A value
//     that was built from cached values keeps the same bound, however many
//     levels of cache lie between it and the source. An invalidation reaches it
//     by the tags that it inherits. A read through a Reader counts from its
//     Moment. The time for which a machine is suspended does not count: its
//     monotonic clock stands still, so a read after it may be late by that time.
//     (TestMomentKeepsTheBound, TestInvalidationReachesOthers, TestLeaseRunsOut, TestStrict,
//     TestBuiltValuesKeepTheBound, TestStrictHoldsForBuiltValues,
//     TestInterleavings, TestRedisLog, TestRedisLogFailover; in redislog
//     TestLostEndStartsAnEpoch, TestLostEndIsNoticedByANewProcess)
//  11. An invalidation that could not be sent is not forgotten. It is applied in
//     this process, reported as an invalidate.PendingError within
//     TiersConfig.InvalidateWait, and tried until it is through or the process
//     ends; too many become one of everything, and take no more memory.
//     (TestPendingInvalidation, TestInvalidateWait, TestMaxPendingBoundsMemory)
//  12. Expired means stale. If Expire returned nil at t, then a read that starts after
//     t in this process, or after t + B in any process on the same log, does not serve
//     as fresh a value whose load began before it; nor one that was built from a value
//     that it served as stale. What was loaded since is unharmed. An invalidation of
//     the same value wins, whichever came first.
//     (TestExpireReachesOthers, TestExpiredFrames, TestExpireWithoutStale,
//     TestExpireOvertakesLoad, TestJoinersAfterExpire, TestJoinersBetweenExpiries,
//     TestInvalidateWinsOverExpire, TestExpiredParts, TestExpiredPartsOfFrames,
//     TestExpireAndLease, TestExpiryIsNotForgotten, TestInterleavings)
//  13. Commit is the invalidation, with a log in the application's database (package
//     sqllog). If a transaction that named its scopes has committed at t, guarantee 10
//     holds as for an Invalidate that returned nil at t, also when the process that wrote
//     has died since, and whichever process has not. A transaction that was rolled back
//     has invalidated nothing. Ready after a commit is for this process, and Settle for
//     all of them, what Strict is.
//     (TestSettle, TestLogUsesCells; of sqllog TestTransactional, TestCommitInvalidates,
//     TestCellsFirst, TestCutOffBeforeNumbering, TestCellsOutOfReach, TestOldCopyPutBack,
//     TestPromotionWhileNumbering, TestIdentityControls; stalecheck's suite db)
//
// Less formally: when Redis dies, reads go on from the local tier and then from
// the source, a bounded number at a time, and Redis is used again when it is
// back. When a load fails, the caller gets the old value if StaleIfError allows
// it, else the error. When two processes race to load, one loads and the other
// takes its value from Redis. When a load races an invalidation, the
// invalidation wins. When the log is out of reach, what was cached is served for
// a bound at most; then only what this process has loaded itself within the
// last bound, and the rest comes from the source, a bounded number at a time.
//
// # What is not promised
//
// An invalidation that returned an error: it holds in this process, and for the
// others it holds once it is through.
//
// A crash between the write to the source and the invalidation, unless the log is in
// the source's database (package sqllog).
//
// A source that is read from replicas which lag: a load that begins after the
// invalidation may still read the old value. Pass invalidate.Hold with the
// longest lag, and nobody caches the key meanwhile.
//
// A machine that is suspended, or a virtual one that is restored from a
// snapshot: its monotonic clock stood still, and the bound counts in its time.
//
// A log whose three keys were copied within Redis, by COPY or RENAME, and put back
// later. That leaves no trace in the server. It is noticed as soon as a process comes
// that knows what was lost. Until then no guarantee holds that rests on the log.
//
// A partition of Redis itself in which a deposed primary still takes writes.
// With Sentinel set min-replicas-to-write to 1 or more and
// min-replicas-max-lag; that lag is then added to B. With Cluster the minority
// stops by itself after cluster-node-timeout, which is added likewise.
//
// In a Cluster, a node that loses the removal of a cell in a failover, when more
// than 131,072 keys were invalidated since, or the record of it was trimmed from
// the log: nobody remembers it then. Keep the nodes that hold cells without
// persistence, or give what they hold a TTL that is shorter than that takes.
//
// Cells that something else than this library writes, and processes that share
// a remote tier and not the log: they do not hear of each other's
// invalidations, and do not accept each other's cells.
//
// Two processes that Set the same key at once: they race, and the tiers may
// keep either value. Write to the source and Delete, and let the next read load.
// A Set that runs at the same time as a Delete may end up on either side of it. Where
// the log cannot remove cells in the step that appends (a Cluster, or another server),
// processes that start later may then find the value that the others refuse.
//
// A value that was built from cached values of other Tiers with another log, while
// those alone are cut off: its own log vouches for it from then on.
//
// A value that was built from cached values of other Tiers of the process, also with the
// same log: the two hear of a record at different times. What the first to hear builds
// from what the second still holds counts as newer than the record, and is kept. Let the
// outer one hear last, by a log that waits for Ready of the inner one, or have one Tiers.
//
// # Instruments
//
// The instruments of OpenTelemetry, by name, kind, unit and attributes; {space} stands for
// cache.namespace and cache.tenant, where tenants beyond TiersConfig.MaxTenants are "other".
// Stats has the same counters and gauges.
//
//	cache.cell.refused     counter   {cell}    {space} reason=corrupt,foreign,invalidated
//	  Remote values that were not served.
//	cache.evict            counter   {entry}   {space}
//	  Entries pushed out of the local tier.
//	cache.evict.size       counter   By        {space}
//	  Memory of the entries pushed out of the local tier.
//	cache.fence.forgotten  counter   {entry}
//	  Entries and loads given up because a fence that may cover them is no longer remembered.
//	cache.fences           gauge     {fence}   kind=key,prefix,tag
//	  Invalidations that are remembered exactly.
//	cache.fill             counter   {value}   {space} outcome=…
//	  What became of loaded values.
//	cache.get.duration     histogram s         {space} outcome=error,load,local,negative,remote,stale sampled=1,1024
//	  Time a caller of Get, GetOrLoad or Fetch waited.
//	cache.hit              counter   {read}    {space} tier=local,remote
//	  Reads answered by a tier.
//	cache.hold.widened     counter   {hold}
//	  Holds beyond the limit, which hold more than they name.
//	cache.holds            gauge     {hold}
//	  Holds that are kept.
//	cache.invalidate       counter   {scope}   kind=key,prefix,tag,everything,expired
//	  Invalidations, and scopes that expired.
//	cache.invalidate.unknown_tenant  counter  {scope}
//	  Invalidations for a tenant that no cache of this process has been used for.
//	cache.invalidate.lag   histogram s
//	  Time invalidations took from the log to this process.
//	cache.lease.age        gauge     s
//	  Time since the lease was last confirmed; -1 if it never was.
//	cache.load             counter   {load}    {space}
//	  Loader calls.
//	cache.load.duration    histogram s         {space}
//	  Time of one loader call.
//	cache.load.error       counter   {load}    {space}
//	  Loader calls that failed.
//	cache.load.overtaken   counter   {load}    {space} outcome=given_up,repeated
//	  Loads overtaken by an invalidation.
//	cache.load.panic       counter   {load}    {space}
//	  Loader calls that failed by a panic.
//	cache.local.bytes      gauge     By
//	  Size of the local tier.
//	cache.local.entries    gauge     {entry}
//	  Entries of the local tier.
//	cache.log.bump         counter   {epoch}
//	  Epochs of the log that began: it may have lost its end.
//	cache.log.error        counter   {call}    op=sync,tail
//	  Calls to the log that failed.
//	cache.log.gap          counter   {gap}
//	  Times records of the log were missing, and what they may have covered was given up.
//	cache.log.lapse        counter   {lapse}
//	  Times the lease ran out.
//	cache.merge            counter   {read}    {space}
//	  Reads that waited for another read's fetch or load.
//	cache.miss             counter   {read}    {space}
//	  Reads that went to the loader.
//	cache.negative         counter   {read}    {space}
//	  Reads answered with a remembered absence or error.
//	cache.pending          gauge     {scope}
//	  Invalidations that wait for a log, or a remote tier, out of reach.
//	cache.pending.age      gauge     s
//	  How long the oldest of them has waited; 0 if none does.
//	cache.refresh          counter   {refresh} {space} outcome=adopted,elsewhere,error,ok,skipped
//	  Background refreshes.
//	cache.remote.breaker   gauge     {breaker} state=closed,half-open,open
//	  State of the breaker in front of the remote tier: 1 for the one that holds.
//	cache.remote.duration  histogram s         op=claim,fill,get,unlink
//	  Time of one call to the remote tier.
//	cache.remote.error     counter   {call}    op=claim,fill,get,unlink
//	  Remote calls that failed.
//	cache.stale_served     counter   {read}    {space} reason=error,revalidate,timeout
//	  Stale values served.
//	cache.staleness.age    histogram s         {space}
//	  How far past its freshness a stale value was when it was served.
//	cache.value.many_tags  counter   {value}   {space}
//	  Values with too many tags, which the invalidation of any tag covers.
//	cache.value.size       histogram By        {space} dir=in,out
//	  Encoded size of values from and to the remote tier.
//
// cache.get.duration has every read by Get, GetOrLoad and Fetch but most of the local hits.
// Of these one in 1,024 is recorded, with the attribute sampled=1024, so its count is to be
// multiplied by that. A sampled Get is timed from behind the look-up of its key. GetMany is
// not part of it.
//
// Spans are cache.load, cache.refresh, cache.invalidate and cache.remote.OP. The span of a
// caller of Get, GetOrLoad or Fetch, if it is recorded, has an event cache.hit or cache.miss
// for each read, with {space} and the outcome of cache.get.duration.
//
// # Without a log
//
// Invalidations travel to other processes only as far as the remote tier
// carries them: Delete and Set remove the key's cell for everybody, but a copy
// in another process's local tier is served until its TTL or LocalTTL ends,
// and prefixes and tags are judged in the process that was told. Where that
// matters, follow a log, or set LocalTTL to the staleness you can bear. The
// order between this process's invalidations and cells that other processes
// filled rests on the machines' clocks then; so does, with a log or without,
// the age of a value read from the remote tier.
package cache
