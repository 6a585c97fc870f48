// Package rules holds the rules of HTTP caching as functions of headers and times. It does no I/O,
// reads no clock and uses no cache. The same rules apply to handlers and to clients.
//
//	rule                                                   RFC                    function             test
//	a repeated or unreadable directive is the careful one  9111 §4.2.1, §5.2      ParseCacheControl    TestParseCacheControl
//	seconds too large to count are a very long time        9111 §1.2.2            Directives.Seconds   TestSeconds
//	how long a response is fresh                           9111 §4.2.1            Cache.Lifetime       TestFreshnessLifetime
//	how long one is that does not say                      9111 §4.2.2            Cache.Lifetime       TestHeuristicLifetime
//	how old a response is on arrival                       9111 §4.2.3            Cache.Lifetime       TestInitialAge
//	private, no-store, must-understand, must-revalidate    9111 §5.2.2, §3.5      Cache.Lifetime       TestResponseDirectives
//	fields for one cache replace Cache-Control             9213 §2.2              Cache.Lifetime       TestTargets
//	how long it may be served stale                        5861 §3, §4            Lifetime.Left        TestLeft
//	what is worth storing                                  9111 §3, §4.3          Lifetime.Usable      TestUsable, TestPairs
//	what no cache may store for everybody                  9111 §3, §7.3          Forbidden            TestNeverShared
//	which failure an older response may replace            5861 §4                StandsIn             TestStaleIfError
//	what a request accepts                                 9111 §5.2.1, 8246      Request.Accepts      TestSharedCache
//	which response a request selects                       9111 §4.1              VaryValue            TestSharedCache
//	which request headers a response varies on             9110 §12.5.5           Learned              TestVaryModel
//	an encoded response varies on Accept-Encoding          9110 §12.5.3           VaryLines            TestEncodedWithoutVary
//	If-None-Match, If-Modified-Since                       9110 §13.1.2, §13.1.3  NotModified          TestConditional
//	If-Match, If-Unmodified-Since                          9110 §13.2.2           PreconditionFailed   TestRange
//	what a 304 carries                                     9110 §15.4.5           Leave304             TestConditional
//	parts of a response                                    9110 §14               RangeOf              TestUnchangingPage
//	what a refused answer says of the stored one           9111 §4.3.3            Outdates             TestRefusedResponseEndsTheOldPage
//	what a refusal says of the client                      9110 §15.5             AboutClient          TestNobodySwitchesTheCacheOff
//	fields of one connection                               9110 §7.6.1            DropHopByHop         TestSharedCache
//	statuses that may be stored without a lifetime         9110 §15.1             HeuristicallyCacheable  TestUsable
//	methods that only read                                 9110 §9.2.1            Safe                 TestWrites
//
// The tests are here or in package httpcache. All functions take headers with canonical names and may
// be called concurrently.
package rules
