// Package digest generates each digest once: for each combination of sources and each
// closed period, however many users, requests and processes ask for it.
//
// A request goes like this:
//
//  1. The period is the last one that is closed: its end, and some grace for what was
//     being fetched then, are over. What came in since belongs to the next.
//  2. The user's sources, and what they hash to with the options of the text, are known
//     in memory until they change.
//  3. A user without sources costs nothing, and leaves nothing.
//  4. The digest of that hash and period comes from memory, or else from the row of
//     digest_cache, or else one process claims the cell, asks the summariser, writes the
//     row and fills the cell, while all others wait for it. A period in which nothing came
//     is remembered, and the summariser not asked.
//  5. The content of the row becomes the user's row in digests, byte for byte.
//
// A digest that could not be made is not remembered; the last one of the same
// combination is served in its place, and says so.
//
// All of that rests on the library: [cache.Cache] in front, the cells of a [sqltier.Tier]
// in the store's file, and a [sqllog.Log] beside them. A deletion, and a change of a user's
// sources, writes what it invalidates in its own transaction: every process hears of what
// was committed, whatever becomes of the one that did it.
//
// # Decisions
//
// The document this follows has fourteen contradictions and traps, D-E1 to D-E14. Each
// decision names the test that holds it; some are in package store or api.
//
//   - D-E1. Weeks begin on Monday in the calendar's zone. The document's own example
//     begins on a Tuesday. (TestWindows)
//   - D-E2. Times are whole milliseconds of UTC, and "now" is always the store's clock: the
//     document compares two spellings of a date as text, and keeps for a day what has
//     expired. (store: TestNoClockInSQL, TestCleanCacheByTheClock)
//   - D-E3. What is looked up and what is unique are the same four columns. (store:
//     TestCacheRows, TestPutCacheRow)
//   - D-E4. Whatever the text depends on is in the hash: language, style, number of items,
//     model, version of the prompt. Without options it is the documented hash.
//     (TestHashWithOptions, TestEveryOptionIsInTheHash)
//   - D-E5. Ids are sorted by number and counted once, and the hash is not cut. (store:
//     TestHashVectors, TestHashIsOfTheSet)
//   - D-E6. Only closed periods have digests, and an item belongs to the period in which
//     it was fetched. Who asks within a period gets the one before. (TestLastClosed,
//     TestItemsThatComeLateBelongToTheNextPeriod)
//   - D-E7. A claim, and not a UNIQUE constraint, keeps a combination from being paid for
//     twice, and who lost reads what the winner wrote. (TestTogetherOneCall,
//     TestTwoProcessesOneCall, TestOwnerIsKilled, TestContentIsTheCacheRows)
//   - D-E8. What the hit rate is made of is counted in the database, by the hour.
//     (TestStats, store: TestCountersOutliveTheProcess)
//   - D-E9. A source that is paused stays in the hash, for it may still have items; one
//     that is deleted leaves it, and comes back when it is restored. (store:
//     TestPausedSourceStaysInTheHash, TestSoftDeleteRecomputesEveryHash)
//   - D-E10. The document's rows per month (§7.2) are miscounted: 80 combinations make
//     14,400 of type 4h and some 350 weekly. Nothing rests on them. (BenchmarkLookUp has
//     10,000 rows)
//   - D-E11. Deleting is never "all" by mistake. (TestForgetRefuses, api:
//     TestDeleteIsNeverAllByMistake)
//   - D-E12. What failed, is empty or cut off is not cached; that a model wants to be left
//     alone is remembered for that long and no longer. (TestFailuresAreNotCached,
//     TestRateLimitIsRememberedForAMoment)
//   - D-E13. Hashes are written by the transaction that changes what they are of, and
//     verify looks for drift all the same. (store: TestHashesFollowAnySequenceOfWrites,
//     TestVerifyFindsAndRepairsDrift)
//   - D-E14. A new user has a hash, a batch costs one, and a user who is deleted leaves
//     none. (store: TestEveryWriteUpdatesTheHash, TestOneHashPerBatch,
//     TestDeletedUserLeavesNothing)
package digest
