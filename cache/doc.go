// Package cache is a two-tier cache. The local tier is in the process; processes share the
// remote tier. One call reads through both and loads what neither holds.
//
// A process opens one [Tiers]: the tiers, the limits and the instruments. A [Cache] is a
// typed view of one namespace for one tenant. It is a small value.
//
// # One look-up
//
//  1. The typed key is hashed and looked up in the local tier. A fresh entry of that key
//     that no invalidation covers is the answer. This takes no lock, allocates nothing and
//     reads the clock once.
//  2. An entry past its TTL but within Stale is also the answer, and a background refresh
//     begins. An early refresh does the same for a fresh entry.
//  3. Otherwise the caller joins the flight of the key, or leads a new one. The leader asks
//     the remote tier in one round trip. A hit ends the flight.
//  4. On a miss the leader claims the key in the remote tier, so that one process in the
//     fleet loads. The other processes wait for its fill. One of them takes over if it dies.
//     If its load stores nothing, they load side by side.
//  5. The loader runs in its own goroutine. At most MaxLoads loaders run at a time. After
//     LoadTimeout its callers get ErrLoadTimeout. If an invalidation overtakes the load, the
//     loader runs again.
//  6. The loaded value goes to the remote tier by compare-and-set on the claim, then to the
//     local tier, then to all callers that wait.
//
// GetMany takes the same steps for many keys: it looks up, claims, loads and fills in bulk.
// Keys that need different steps continue separately.
//
// # Guarantees
//
// Each guarantee names the tests that hold it.
//
//  1. One load. When many callers in many processes ask for one absent key at once, its
//     loader runs once. A process waits for one load of another process. If that load
//     stored nothing, the processes that waited load side by side. If its process died, one
//     of them takes over. Reads with MaxAge, and Refresh, do not wait for other processes.
//     (TestOneLoadForAll, TestRedisSetups, TestOneRefreshInTheFleet,
//     TestWaitingCostsOneLoad, TestOneProcessTakesOver)
//  2. Your own patience. A caller waits no longer than its own context allows, and no
//     result depends on another caller's context. One exception: a caller that is
//     cancelled during a call to the remote tier, not past its deadline, may notice only at
//     RemoteTimeout. When the last caller leaves, the load's context is cancelled. A read
//     waits for one load of another process, and then loads, whatever that load's outcome.
//     It waits for a second one only if the first wait took a quarter of ClaimTTL.
//     SoftTimeout counts once for a call. Loaders that read each other's keys do not wait
//     for ever: one of them gets ErrRecursive.
//     (TestCancelledFirstCallerHarmsNobody, TestLastToLeaveCancelsTheLoad,
//     TestWaitingCostsOneLoad, TestGetManySoftTimeout, TestCrossedLoads)
//  3. Read your writes. When a load or Set has returned, and its value was stored, the
//     next read in this process sees that value or a newer one. A value that is not stored
//     (NoStore, MinLoad, too large) leaves an older one in place.
//     (TestReadYourWrites, TestSetDuringLoad)
//  4. Invalidated means gone. When Delete, DeleteAll or Invalidate has returned, no later
//     read in this process returns a value whose load began before the invalidation. This
//     covers both tiers, running loads, stale values, and values served in place of an
//     error. With a log it holds whatever the call returned, unless the call refused its
//     arguments.
//     (TestInvalidatedIsNeverServedStale, TestInvalidateDuringLoad,
//     TestInvalidateDuringFill, TestDeleteRacesOlderLoads,
//     TestOwnReadsAfterPendingError, TestModel)
//  5. Dependencies flow outward. A value that was built from other cached values carries
//     their tags, also when those reads were hits. Each of those values was known to be true
//     at some moment; the built value counts as no younger than the oldest such moment. The
//     invalidation of any tag covers a value with more than 256 tags. Such a value may end
//     early, never late.
//     (TestOuterInheritsTags, TestBuiltValuesKeepTheBound, TestTagsBeyondTheLimit)
//  6. A remote tier that fails costs time, never an answer. Each call to it has its own
//     deadline, RemoteTimeout. After five failures in a row no call is made for a second,
//     except removals, which are always tried. Five shorter deadlines of callers do the
//     same if no call succeeded for a RemoteTimeout. A read spends at most one deadline on
//     a tier that does not answer. Then it serves what this process holds, or loads. A node
//     of a Cluster that hangs delays only its own keys.
//     (TestRemoteFaults, TestRedisFaults, TestRedisFailover,
//     TestHungRedisAndShortDeadlines, TestRedisHungNode,
//     TestImpatientCallersOfAHungTier, TestLostAnswerToAClaim)
//  7. Never wrong bytes. A frame of the remote tier is a counted miss if it is corrupt,
//     truncated, of another key, of another type, or older than a known invalidation. So is
//     a frame of an epoch of the log that the reader does not know.
//     (TestUnreadableCells, TestCellBitFlips, FuzzParseCell,
//     TestSurvivingCellsOfALostLog)
//  8. Failures are not values. A load error replaces no good value. It is remembered only if
//     the policy says so (ErrorTTL). While an old value is served in place of a failed load,
//     each process asks the source for the key at most once per Throttle. A loader's panic
//     reaches every caller that waits for it, and leaves nothing locked. A failure of one
//     key of a batch never becomes the absence of another key.
//     (TestRememberedErrorKeepsTheOldValue, TestRememberedErrorOfAnotherProcess,
//     TestWhichErrorsAreRemembered, TestThrottle, TestPanicReachesEveryWaiter,
//     TestGoexitInLoader, TestLoadManyAnswers)
//  9. Everything is bounded: bytes, flights, loads, refreshes, tags, the sizes of keys and
//     values, the decoded size of a remote frame, and the tenants with their own counters.
//     (TestGuarantees, TestMaxLoadsIsATrueBound, TestTagLimits, TestMaxFlights,
//     TestMaxTenants, TestMaxRefreshesOfANamespace, TestFrameIsBoundedByMaxValueBytes)
//     An entry leaves by its age, by the budget, or by an invalidation that covers it. The
//     number of other keys, tags and holds does not matter. Stats.Fences shows the memory
//     that this takes, and the cost of an overflow.
//     (TestDeletesOfOtherKeys, TestSetsWithRoom, TestManyTags, TestManyHolds)
//  10. The same everywhere, with a log. Suppose that Invalidate, Delete or DeleteAll
//     returned nil at t. Then any read that starts after t + B, in any process on the same
//     log, from any tier, returns a value whose load began after the invalidation. With
//     invalidate.Strict this holds for any read that starts after t. B is the log's bound,
//     2 s unless configured. The rates of two machines' monotonic clocks may differ by a
//     thousandth of B. The guarantee holds whatever happens to messages, connections,
//     processes and the log's servers. It holds also when a server is restored to an earlier
//     state, and the first process that connects knows nothing of the loss.
//     A value that was built from cached values keeps the same bound, through any number of
//     cache levels between it and the source. It inherits their tags, so their
//     invalidations reach it. For a read through a Reader, the time counts from its Moment.
//     The time for which a machine is suspended does not count, because its monotonic clock
//     stands still. A read after the suspension may be late by that time.
//     (TestMomentKeepsTheBound, TestInvalidationReachesOthers, TestLeaseRunsOut, TestStrict,
//     TestBuiltValuesKeepTheBound, TestStrictHoldsForBuiltValues,
//     TestInterleavings, TestRedisLog, TestRedisLogFailover; in redislog
//     TestLostEndStartsAnEpoch, TestLostEndIsNoticedByANewProcess)
//  11. An invalidation that could not be sent is not forgotten. It is applied in this
//     process. The call reports it as an invalidate.PendingError within
//     TiersConfig.InvalidateWait. The process retries it until it succeeds or the process
//     ends. If too many wait, one invalidation of everything replaces them, so they take no
//     more memory.
//     (TestPendingInvalidation, TestInvalidateWait, TestMaxPendingBoundsMemory)
//  12. Expired means stale. Suppose that Expire returned nil at t. A read that starts after
//     t in this process, or after t + B in any process on the same log, does not serve as
//     fresh a value whose load began before the Expire. The same holds for a value that was
//     built from such a value when it was served as stale. A value that was loaded later is
//     unharmed. If an invalidation covers the value too, the invalidation wins, in either
//     order.
//     (TestExpireReachesOthers, TestExpiredFrames, TestExpireWithoutStale,
//     TestExpireOvertakesLoad, TestJoinersAfterExpire, TestJoinersBetweenExpiries,
//     TestInvalidateWinsOverExpire, TestExpiredParts, TestExpiredPartsOfFrames,
//     TestExpireAndLease, TestExpiryIsNotForgotten, TestInterleavings)
//  13. Commit is the invalidation, with a log in the application's database (package
//     sqllog). Suppose that a transaction that named its scopes committed at t. Then
//     guarantee 10 holds as for an Invalidate that returned nil at t, also if the writing
//     process, or any other, has died since. A transaction that was rolled back invalidates
//     nothing. After a commit, Ready gives this process what Strict gives, and Settle gives
//     it to all processes.
//     (TestSettle, TestLogUsesCells; of sqllog TestTransactional, TestCommitInvalidates,
//     TestCellsFirst, TestCutOffBeforeNumbering, TestCellsOutOfReach, TestOldCopyPutBack,
//     TestPromotionWhileNumbering, TestIdentityControls; stalecheck's suite db)
//
// Less formally:
//
//   - When Redis dies, reads use the local tier and then the source, with a bounded number
//     of loads at a time. When Redis is back, reads use it again.
//   - When a load fails, the caller gets the old value if StaleIfError allows it, else the
//     error.
//   - When two processes race to load, one loads and the other takes its value from Redis.
//   - When a load races an invalidation, the invalidation wins.
//   - When the log is out of reach, cached values are served for a bound at most. Then a
//     process serves only what it loaded itself within the last bound. The rest comes from
//     the source, with a bounded number of loads at a time.
//
// # What is not promised
//
// An invalidation that returned an error. It holds in this process. It holds in the others
// as soon as a retry succeeds.
//
// A crash between the write to the source and the invalidation, unless the log is in
// the source's database (package sqllog).
//
// A source that is read from replicas that lag. A load that begins after the invalidation
// may still read the old value. Pass invalidate.Hold with the longest lag: no process caches
// the key for that time.
//
// A machine that is suspended, or a virtual machine that is restored from a snapshot. The
// bound counts in the time of its monotonic clock, which stood still.
//
// A log whose three keys were copied within Redis, by COPY or RENAME, and put back later.
// That leaves no trace in the server. A process that knows what was lost notices it when it
// connects. Until then no guarantee holds that rests on the log.
//
// A partition of Redis in which a deposed primary still takes writes. With Sentinel, set
// min-replicas-to-write to 1 or more, and set min-replicas-max-lag; that lag is added to B.
// With Cluster, the minority stops by itself after cluster-node-timeout; that time is added
// to B.
//
// In a Cluster, a node that loses the removal of a cell in a failover. No process remembers
// the removal if more than 131,072 keys were invalidated since, or if the log has trimmed its
// record. Run the nodes that hold cells without persistence, or give their cells a TTL that is
// shorter than the time until then.
//
// Cells that this library did not write, and processes that share a remote tier but not the
// log. Those processes do not learn of each other's invalidations, and refuse each other's
// cells.
//
// Two processes that Set the same key at once. They race, and the tiers may keep either
// value. Write to the source and Delete, and let the next read load. A Set that races a
// Delete may take effect before or after it. If the log cannot remove cells in the step that
// appends the record (in a Cluster, or on another server), processes that start later may
// then find the value that the others refuse.
//
// A value that was built from cached values of other Tiers with another log, while only
// those Tiers are cut off. From then on its own log vouches for it.
//
// A value that was built from cached values of other Tiers of the same process, also with
// the same log. The two learn of a record at different times. Suppose that the first has
// learned of a record and builds a value from what the second still holds. That value counts
// as newer than the record, and is kept. Let the outer Tiers learn last: give them a log that
// waits for Ready of the inner Tiers. Or use one Tiers.
//
// # Instruments
//
// The list below has the OpenTelemetry instruments by name, kind, unit and attributes. {space}
// stands for cache.namespace and cache.tenant. Tenants beyond TiersConfig.MaxTenants are
// counted as "other". Stats has the same counters and gauges.
//
//	cache.cell.refused     counter   {cell}    {space} reason=corrupt,foreign,invalidated
//	  Remote values that were not served.
//	cache.evict            counter   {entry}   {space}
//	  Entries pushed out of the local tier.
//	cache.evict.size       counter   By        {space}
//	  Memory of the entries pushed out of the local tier.
//	cache.fence.forgotten  counter   {entry}
//	  Entries and loads that are not used because a fence that may cover them was forgotten.
//	cache.fences           gauge     {fence}   kind=key,prefix,tag
//	  Invalidations that are remembered exactly.
//	cache.fill             counter   {value}   {space} outcome=…
//	  Loaded values, by what was done with them.
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
//	  Loads during which the key was invalidated.
//	cache.load.panic       counter   {load}    {space}
//	  Loader calls that failed by a panic.
//	cache.load.refused     counter   {load}    {space} limit=flights,loads
//	  Fetches and loads that a limit refused.
//	cache.local.bytes      gauge     By
//	  Size of the local tier.
//	cache.local.entries    gauge     {entry}
//	  Entries of the local tier.
//	cache.log.bump         counter   {epoch}
//	  New epochs of the log. The log may have lost its last records.
//	cache.log.error        counter   {call}    op=sync,tail
//	  Calls to the log that failed.
//	cache.log.gap          counter   {gap}
//	  How often records of the log were missing. What they may have covered is not served.
//	cache.log.lapse        counter   {lapse}
//	  How often the lease ran out.
//	cache.merge            counter   {read}    {space}
//	  Reads that waited for another read's fetch or load.
//	cache.miss             counter   {read}    {space}
//	  Reads that went to the loader.
//	cache.negative         counter   {read}    {space}
//	  Reads answered with a remembered absence or error.
//	cache.pending          gauge     {scope}
//	  Invalidations that wait because the log or the remote tier cannot be reached.
//	cache.pending.age      gauge     s
//	  How long the oldest of them has waited; 0 if none does.
//	cache.refresh          counter   {refresh} {space} outcome=adopted,elsewhere,error,ok,skipped
//	  Background refreshes.
//	cache.remote.breaker   gauge     {breaker} state=closed,half-open,open
//	  State of the breaker of the remote tier: 1 for the present state, 0 for the others.
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
// cache.get.duration records every read by Get, GetOrLoad and Fetch, except most local hits.
// It records one in 1,024 local hits, with the attribute sampled=1024. Multiply its count by
// that attribute. The time of a sampled Get begins after the look-up of its key. GetMany is
// not recorded.
//
// Spans are cache.load, cache.refresh, cache.invalidate and cache.remote.OP. If the span of a
// caller of Get, GetOrLoad or Fetch is recorded, each read adds an event cache.hit or
// cache.miss to it, with {space} and the outcome of cache.get.duration.
//
// # Without a log
//
// Without a log, invalidations reach other processes only through the remote tier. Delete and Set
// remove the key's cell for all processes. A copy in another process's local tier is served until
// its TTL or LocalTTL ends. Invalidations of prefixes and tags count only in the process that was
// called. If that matters, use a log. Without one, LocalTTL bounds what other processes serve of a
// changed key, and only TTL bounds the rest. The order of this process's invalidations and of
// cells that other processes filled then rests on the machines' clocks. The age of a value from
// the remote tier rests on them with and without a log.
package cache
