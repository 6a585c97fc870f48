// Package httpcache keeps whole HTTP responses in front of a handler, in the
// caches of package [cache].
//
// It is an origin's own cache, not a proxy's. A response stays until what it was
// made of is invalidated: the handler names that while it renders, by
// [cache.Depend] on its request's context, and what it reads from other caches
// of the same Tiers it depends on without a word. Whoever writes invalidates the
// same tags, and when that has returned nobody is served what was there before.
//
//	c, err := httpcache.New(httpcache.Config{Tiers: tiers, Hosts: []string{"example.com"}})
//	http.ListenAndServe(addr, c.Handler(mux))
//
// # What is stored
//
// Whole responses to GET, with a status of Config.Statuses, a body of at most
// Config.MaxBody, and nothing in their header that speaks against it. HEAD is
// answered from the same entries. A response without an ETag gets a strong one, of
// its representation; one without a Content-Length or Content-Type gets those. Date
// and what is about one connection are left out.
//
// How long clients and caches further down may keep a response is theirs to read:
// max-age, s-maxage, Expires and must-revalidate are passed on and change nothing
// here.
//
// # What the key is
//
// The scheme, the host, the path as it was escaped, the query, and the request
// headers that Config.Vary declares for the path, in words:
//
//	default:http:v1:http//example.com/list?page=2|accept=application^2Fjson
//
// The query is sorted by name and spelled in one way; parameters for advertisers
// are dropped, and, where Config.Query lists those that matter, all others.
// A handler cannot put what was dropped into a redirect either. Headers are there by
// the value that their rule makes of them. The library
// compares keys in full; a request whose key would be over its limit of 1 KiB goes
// past the cache.
//
// A handler that renders for the cache sees a request that is made of its key, and
// nothing else of the client: no other header, no other parameter, no address, no
// value that outer handlers left in the context. So nothing else can be in the
// page, whether it is X-Forwarded-Host, a parameter that is ignored, or the name of
// who asked first. A handler that looks at more has to say so, by Vary or Cache-Control,
// as it must for every other cache; see guarantee 2 for what happens then.
//
// # What is never stored
//
// By the request: all methods but GET and HEAD; Authorization, Proxy-Authorization,
// Cookie, the program's own credentials and client certificates, unless
// Config.AllowAuthorized lets them in; a body; an upgrade; an event source; hosts that
// are not listed; paths with dot segments or empty ones, absolute targets, queries with ";" or bad escapes; what Config.Bypass
// names; what is asked for while another entry is being loaded. These requests
// reach the handler untouched, with the connection to themselves. With
// Cache-Control: no-store a client gets what is there, or a response of its own that
// is not stored. The other words of a client's Cache-Control and Pragma are for
// caches on its side: if they counted here, strangers could make the handler work.
//
// By the response: Set-Cookie; Cache-Control with private, no-store, no-cache (also
// when these are limited to some fields) or what is no directive at all; Vary on "*"
// or on what is not declared; event streams; 206 and Content-Range; trailers, early hints, upgrades;
// a Content-Length that is not the body's; any other status.
//
// A response that is flushed before it is whole, or grows over the cap, goes on live
// to the client for whom it was begun.
//
// # Parts, conditions and codings
//
// A page of status 200 answers Range, If-Range, If-Match and If-Unmodified-Since as it
// answers If-None-Match. With KeyOnly a page that is not there is made whole first.
// Without, the request goes past the cache. (TestRange, TestRangeOfWhatIsNotThere,
// TestRangesAreThoseOfServeContent)
//
// With Config.Encodings a page is compressed once for each coding, and each coding is an
// entry that the tiers keep beside the plain one. It ends with the page: what invalidates
// one invalidates all. A page that is never fresh is compressed for each client. The
// codings have validators of their own. (TestEncodedPages, TestEncodingsInherit,
// TestEncodingsAgeWithTheirPages, TestCodingOfAPageThatIsReplaced)
//
// # Writes
//
// A request of a method that may write, and that is answered 2xx or 3xx, invalidates the
// entries of its path, and of the paths of the same host that Location and
// Content-Location name, before its client has the answer. When the log of the Tiers is
// out of reach the client waits for as long as their InvalidateWait says, and
// Stats.PendingWrites counts it. See Config.IgnoreWrites. (TestWrites,
// TestWritesAreOverBeforeTheyAreAnswered, TestWritesOfAFleet, TestWritesWithoutALog)
//
// # Guarantees
//
// Each names the test that holds it.
//
//  1. What is stored is made from its key alone. (TestHandlerSeesTheKeyAlone, TestKeys,
//     TestContextOfOuterHandlers, TestAllowAuthorized)
//  2. What is not for everybody is given to nobody but its client, and made from the
//     client's own request; that takes a second rendering when the handler had
//     already begun one for everybody. A response is not for everybody if it
//     is marked so, or if its status answers one client only, such as 302 or 401,
//     and is not among those stored. (TestNeverShared, TestNeverAsked,
//     TestWaitersOfAPrivateResponse)
//  3. Clients cannot tell. But for Age, Date and Cache-Status, a site answers as it
//     would with the cache off, to the byte, provided that its handler names what
//     it depends on, and that what Query and Vary take for the same is the same to
//     it. (TestTwins, TestHead, TestConditional)
//  4. Invalidated means gone, also for a page that was being rendered, wherever in
//     the rendering the invalidation falls. (TestFillRaces, TestReadYourWrites,
//     TestPagesInherit, TestStaleIfError)
//  5. One rendering. However many clients want a page that is not there, the
//     handler is asked once, as long as one of them waits; nobody's hanging up
//     harms another. When the last has gone the handler's context is cancelled, and
//     nothing is stored: who asks and runs should not be able to keep a site busy.
//     (TestCoalescing, TestHangUp, TestLastToHangUp,
//     TestHangUpIsNotRemembered)
//  6. No queues for what cannot be shared. A key that was not for everybody is
//     remembered for ten seconds, in a table of fixed size, and its clients are
//     served side by side. (TestRememberedKeysDoNotQueue, TestMemoryIsBounded)
//  7. Streams stream: at once, once, with no more of them in memory than
//     Config.MaxBody, for longer than LoadTimeout, and until the client leaves.
//     (TestStream, TestStreamOutlivesLoadTimeout, TestTooLarge, TestPrivateStream,
//     TestResponseController)
//  8. A panic breaks the connections of those who wait for the page, as it would have
//     broken one, and is not stored. (TestPanicReachesWaiters, TestPanicIsNotStored,
//     TestPanicInAStream)
//  9. A client that has a page is not sent it again: If-None-Match and
//     If-Modified-Since are answered 304 by RFC 9110 §13, by what was there and by
//     what was not. (TestConditional, TestConditionalNeedsSuccess, TestGeneratedETag)
//  10. Failures are not pages. A 5xx is given to those who wait for it, and to nobody
//     after them. With the policy's StaleIfError an older page stands in for it or
//     for a panic, with Stale an older page is served while it is made anew; one
//     that was invalidated never is. (TestFailureIsPassedOn, TestStaleIfError,
//     TestStaleWhileRevalidate, TestStaleIfSlow, TestStaleIsNoExcuseForPrivate)
//  11. Whatever strangers ask for, memory stays within the tier's budget, and the
//     numbers of counters and of remembered keys within fixed ones. (TestFloods,
//     TestCost, TestMemoryIsBounded)
//
// # What the handler has to keep to
//
// It may be called twice for one GET. When it looks at headers that no rule
// declares it says so, in Vary or Cache-Control, in the 404 as in the 200. When it
// reads something that may change it names that by cache.Depend, before or after.
// It listens to its context, as behind any server: when a response turns out to be
// for nobody the context ends and writes fail, and so it is after the policy's
// LoadTimeout, when who waits gets a 503. That is also the answer while more
// pages are being rendered than the Tiers allow.
//
// Credentials that are not in one of the usual headers have to be named in
// Config.Credentials; better, they are checked by a handler in front of the cache.
//
// # What clients are told
//
// Cache-Status (RFC 9211): "hit", "fwd=uri-miss; stored", "fwd=uri-miss; collapsed"
// for who waited for another's rendering, "fwd=stale", "fwd=bypass" and
// "fwd=method", with the reason as detail when a response was not stored: a name
// that Stats uses too. "stored" means that the response was handed to the tiers for
// keeping; Warm looks whether they did. With stale-if-error it is "fwd=stale;
// fwd-status=500; detail=stale-if-error". ttl is left out when it has no end.
//
// Age counts from the beginning of the rendering; see Config.NoAge.
package httpcache
