// Package httpcache stores HTTP responses in the tiers of package [cache]: in front of a
// handler, and behind an http.Client.
//
// A site's own pages stay until the data they were made of is invalidated. The handler names
// that data while it renders. The page also depends on everything that the handler reads from
// other caches of the same Tiers. A write invalidates the same tags:
//
//	tiers, err := cache.Open(cache.TiersConfig{})
//	pages, err := httpcache.New(httpcache.Config{
//		Tiers: tiers, Preset: httpcache.Pages, Hosts: []string{"example.com"},
//	})
//	mux.HandleFunc("GET /posts/{id}", func(w http.ResponseWriter, r *http.Request) {
//		cache.Depend(r.Context(), "post:"+r.PathValue("id"))
//		// render
//	})
//	http.ListenAndServe(addr, pages.Middleware(mux))
//	// and after a write: tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, "post:1"))
//
// In front of a proxy, or of a handler from elsewhere, set only Tiers. That makes a shared cache as
// RFC 9111 describes it:
//
//	tiers, err := cache.Open(cache.TiersConfig{})
//	shared, err := httpcache.New(httpcache.Config{Tiers: tiers, Hosts: []string{"example.com"}})
//	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(origin) }}
//	http.ListenAndServe(addr, shared.Handler(proxy))
//
// A client's private cache:
//
//	tiers, err := cache.Open(cache.TiersConfig{})
//	transport, err := httpcache.NewTransport(httpcache.TransportConfig{Tiers: tiers})
//	client := &http.Client{Transport: transport}
//	res, err := client.Get("https://example.com/feed")
//
// A client of services that do not say how long their answers last sets Fallback to
// [StaleWhileRevalidate].
//
// # Two presets
//
// Config.Preset says whose responses a Cache holds. Both kinds can be invalidated by key, path and
// tag.
//
// With Pages the handler sees only what is in the key. List in Config.Vary the headers that the
// pages depend on. A page stays until it is invalidated.
//
// With Shared, the zero value, the handler sees the whole request of the first client, and decides
// what may be shared. It may know its clients by something other than Authorization and Cookie. If
// that is a header, such as X-User or X-Api-Key, name it in Config.Credentials. If it is something
// else, such as the client's address, the handler must answer Cache-Control: private, as behind any
// shared cache.
//
// With neither does the handler see the values that outer handlers have put into the request's context.
// If it asks for one, its response is its client's own; see Config.ContextKeys. So put the cache around
// a router, not into it. (TestContextOfOuterHandlers, TestContextKeys, TestRouters)
//
// At an edge set three fields. Set Hosts, because clients choose Host. Set Secure if something
// in front ends TLS. Set Targets to "CDN-Cache-Control" if responses have separate rules for
// the edge.
//
// # What is stored
//
// The cache stores whole responses to GET. The body is at most Config.MaxBody, the status is
// one of Config.Statuses, and no header forbids it. The same entries answer HEAD and a Range
// of bytes.
//
// With Shared the cache stores a response that names a lifetime (s-maxage, max-age,
// Expires) or gets one from Fallback. It also stores a response that it can revalidate: one with
// an ETag or Last-Modified. Without a lifetime it is stale from the start, and each request asks
// the handler whether it still holds. A response that names no lifetime and is not public is stored only
// if its status allows that (RFC 9110 §15.1), whatever Fallback says: a 200 or a 404, never a 302, a 403 or a
// 503. (TestPairs, TestConfirmedPages, TestFileServer)
//
// When the lifetime is over, the cache keeps the response for Config.Keep and revalidates it with
// If-None-Match and If-Modified-Since. It serves a stale response only within
// stale-while-revalidate and stale-if-error (RFC 5861), and never after must-revalidate,
// proxy-revalidate or s-maxage. If the handler answers the revalidation with a response that must
// not be stored, such as a 404 without a lifetime, the old response is invalidated. A failure
// leaves it. A refusal of the client, such as 403 or 429, leaves it too.
// (TestRefusedResponseEndsTheOldPage, TestBypassEndsNoPage)
//
// A response may vary on up to 8 request headers besides those in the key. One that varies on more
// is not stored. The cache learns their names, and each variant has its own entry. A header that
// the handler never sees needs no variants, such as Cookie with IgnoreCookie. (TestLongVary)
//
// With Pages a response without an ETag gets a strong one, a hash of its
// representation. Date is left out. The cache passes max-age, s-maxage and Expires on to
// clients and to caches further down, and does not use them. A handler that shows an object can pass on
// how long that is fresh: as max-age, and as the lifetime of the page (TestPagesOfObjects). After must-revalidate
// and proxy-revalidate the response is not served stale.
//
// # What the key is
//
// The key holds the scheme, the host, the path as it was escaped, the query, and the request
// headers that Config.Vary declares for the path, in plain text:
//
//	default:http:v1:http//example.com/list?page=2|accept=application^2Fjson
//
// Two requests have one key only if RFC 3986 §6.2.2 says that their URIs are equivalent: the host, or an
// escape, is in capitals in one of them, or a character is escaped that need not be. So each order of
// parameters is another page. If Config.Query lists the parameters that matter for a path, the key has
// these only, sorted by name and spelled in one way. Config.Tracking drops parameters, and leaves the
// rest as it came. (TestURIs, TestKeys)
//
// With Pages the handler sees the query of the key. With Shared it sees the query of the client as it
// came. If the response shows a dropped parameter, only its client gets it. For the others the handler is
// called once more, without the dropped parameters. A response shows a parameter if it has, in its header or
// body, the name, the value, or a word of the value: of at least three bytes, in small letters or capitals, plain or
// as a URL escapes it. Nothing else is looked for. A handler may put a dropped parameter into a page in another form,
// such as base64, a hash, or a sentence that says whether it was there. That page is stored for all. So
// drop only what the handler does not read. (TestSpellings, TestUnkeyedParameters, TestOtherFormsOfParameters,
// TestSharedMissWithTracking)
//
// The keys of learned variants and of encodings begin with this key. The library compares keys in
// full. A request whose key would be longer than 1 KiB bypasses the cache.
//
// # What is never stored
//
// These requests reach the handler unchanged, with direct access to the connection:
//
//   - methods other than GET and HEAD;
//   - Authorization, Proxy-Authorization, Cookie, the
//     headers of Config.Credentials, and client certificates, unless Config.AllowAuthorized or
//     IgnoreCookie admits them;
//   - a body, an upgrade, a Connection that names another header of the request;
//   - a request for an event stream;
//   - hosts that are not listed;
//   - paths with dot segments or empty segments, and whole URLs of another origin than the request's;
//   - queries over 4 KiB and, where Config.Query lists parameters, those with ";" or bad escapes;
//   - requests that Config.Bypass names;
//   - requests in the context of another load.
//
// A client that says Cache-Control: no-store gets a stored response or one of its own, which is
// not stored. A client that says only-if-cached gets a stored response or a 504. A GET or HEAD that
// bypasses the cache then gets a 504 too, unless Config.Bypass names it. The other directives of a client's
// Cache-Control and Pragma do not count. If they counted, any client could make the handler work.
//
// These responses are never stored, and no option but Targets changes it:
//
//   - Set-Cookie;
//   - Cache-Control with private, no-store or invalid syntax (private="field" and
//     no-cache="field" count as private and no-cache), unless a field of Targets replaces it. With
//     Shared no-store does not count beside must-understand if the cache knows the status
//     (RFC 9111 §5.2.2.3);
//   - Vary: *;
//   - 206 and Content-Range;
//   - event streams, trailers, upgrades;
//   - a Content-Length that differs from the length of the body;
//   - informational responses, which are passed on; for a client that does not read, 64 of them wait,
//     and others are left out;
//   - with Pages also no-cache, and Vary on an undeclared header.
//
// A response that grows over MaxBody goes on live to the client that started it. A response that
// is flushed before it is whole does the same. With Shared a flushed response that names a
// lifetime is stored too; the clients that wait for it get it when it is whole.
//
// # Parts, conditions and codings
//
// A page of status 200 answers Range, If-Range, If-Match and If-Unmodified-Since as it
// answers If-None-Match. With Pages a missing page is rendered whole first. With Shared
// the request bypasses the cache. (TestRange, TestConditionsAndRanges,
// TestUnchangingPage)
//
// A stale page that a GET gets, while it is refreshed or in place of a failure, answers a HEAD and a Range too.
// The refresh asks for the whole page. If a HEAD reaches the handler, and its answer has another ETag,
// Last-Modified or Content-Length than the stored page, that page is invalidated (RFC 9111 §4.3.5). An answer that
// agrees updates nothing. (TestPartsOfStalePages, TestHeadOfAnotherPage)
//
// With Config.Encodings a page is compressed once for each coding. Each coding is an entry
// that the tiers keep beside the plain one. What invalidates the page invalidates its codings.
// A page that is never fresh is compressed for each client. Each coding has its own
// validators. (TestEncodedPages, TestEncodingsInherit, TestCodingsOfStoredPages)
//
// # Writes
//
// A request of a method that may write, answered 2xx or 3xx, invalidates the entries of its
// path on its host before its client has the answer. It also invalidates the paths of the same host
// that Location and Content-Location name. Of each the first four lines count. When the log of the
// Tiers is out of reach, the client waits for up to their InvalidateWait, and Stats.PendingWrites
// counts the write. See Config.IgnoreWrites. (TestWrites, TestWriteOfOneHost, TestWritesAreOverBeforeTheyAreAnswered,
// TestWritesOfAFleet, TestWritesWithoutALog, TestWritesInOtherSpellings)
//
// # Guarantees
//
// Each guarantee names the tests that hold it.
//
//  1. With Pages a stored response is made only from its key. With Shared a stored response holds
//     nothing that Hide names, and does not show a parameter that the key leaves out, in the forms
//     named above. Neither is made from what an outer handler has put into the context of a request.
//     (TestHandlerSeesTheKeyAlone, TestKeys, TestContextOfOuterHandlers, TestAllowAuthorized,
//     TestPoisoning, TestNormalizedHeader, TestSpellings, TestCertificateIsHidden)
//  2. A response that is not for everybody reaches its own client only, and the handler is called
//     once. It is called a second time, with the client's own request, if the first request was
//     made only from the key (Pages), held no credentials of the client (AllowAuthorized), or was a
//     HEAD, or if the handler asked for a value that an outer handler has put into the context. It is
//     called a second time for the others if the response shows a parameter that is not in the key. A
//     response is not for everybody if it may not be stored. With Pages that means:
//     it is marked so, or its status answers one client only, such as 302 or 401, and is not one of
//     Config.Statuses. (TestAskedOnce, TestNeverShared, TestNeverAsked,
//     TestSharedCacheNeverShares, TestRenewedAsPrivate,
//     TestRefreshedForOthers, TestHandlerChangesItsRequest, TestSpellings,
//     TestOneRenderingForOrdinaryRequests)
//  3. Clients cannot see the cache. With Pages and without Encodings a site answers
//     as with the cache off, to the byte, except for Age, Date and Cache-Status. The handler
//     must name what it depends on. It must also give one answer to all requests that Query and
//     Vary treat as the same. (TestTwins, TestHead, TestConditional)
//  4. An invalidated entry is gone, stale or not, with all variants and encodings. That holds
//     for a page that is being rendered, at any point of the rendering, and for a page that a
//     304 has renewed. (TestFillRaces, TestReadYourWrites, TestPagesInherit,
//     TestStaleIfError, TestRenewedPagesInherit, TestInvalidatedWhileAsked,
//     TestPurgeVariants, TestVaryModel)
//  5. Single flight. All clients that want a missing page at the same time share one
//     rendering, as long as one of them waits. A client that disconnects, or reads slowly,
//     does not harm another. When the last client has left, the handler's context is cancelled
//     and nothing is stored: a client that disconnects must not keep the site busy. A handler that
//     goes on keeps its turn among MaxLoads of the Tiers, and the request that started it lasts as
//     long, as without the cache. (TestCoalescing, TestClientsLeave, TestReadAsItComes,
//     TestSlowReaderOfHints, TestSharedMissWithTracking, TestClientsThatReset,
//     TestAbandonedRunsHoldTheirTurns)
//  6. No queue for a response that cannot be shared. The cache remembers its key for ten
//     seconds, in a table of fixed size, and serves the clients of the key concurrently. A stored
//     page is still served. A refusal that one client's request may have caused, such as 403 or
//     429, is not remembered, nor is a body that was cut short. The page is then not refreshed for the
//     policy's Throttle.
//     (TestRememberedKeysDoNotQueue, TestMemoryIsBounded, TestRefusedRefresh,
//     TestNobodySwitchesTheCacheOff)
//  7. A stream is passed on as it comes, and the handler runs once. At most Config.MaxBody of a
//     stream is in memory. It may last longer than LoadTimeout, until the client leaves.
//     (TestStream, TestStreamOutlivesLoadTimeout, TestTooLarge, TestPrivateStream,
//     TestFlushedAndStored, TestClientsLeave, TestReverseProxy, TestResponseController)
//  8. A panic breaks the connections of all clients that wait for the page, as it would have
//     broken one connection. It is not stored. (TestPanicReachesEverybody,
//     TestPanicInAStream)
//  9. A client that has a page does not get it again. If-None-Match and If-Modified-Since are
//     answered 304 by RFC 9110 §13, on a hit and on a miss. (TestConditional,
//     TestConditionalNeedsSuccess, TestGeneratedETag)
//  10. Failures are not pages. A 5xx that names no lifetime goes only to the clients that wait
//     for it. Within stale-if-error, or the policy's StaleIfError, an older page replaces the
//     5xx or the panic. Within stale-while-revalidate, or Stale, an older page is served
//     while it is refreshed. An older page that was invalidated, or says must-revalidate, is
//     never served. (TestFailureIsPassedOn, TestStaleIfError, TestPagesByPolicy,
//     TestSharedCache, TestSharedByProcesses, TestNoAnswer)
//  11. Clients cannot exhaust memory. Entries stay within the tier's budget. The numbers of
//     counters and of remembered keys are fixed. The header of a page stays below 64 KiB, also when
//     304s add to it. (TestFloods, TestCost, TestMemoryIsBounded, TestEndlessHints,
//     TestConfirmedHeaderIsBounded)
//
// # What the handler must do
//
// One GET may call the handler twice; see guarantee 2.
//
// A handler that reads a header which no rule declares must say so, in Vary or Cache-Control,
// in the 404 as in the 200. A handler that reads data which may change must name the data by
// cache.Depend, before or after the read.
//
// The handler must listen to its context, as behind any server. The context ends, and writes
// fail, when no client needs the response. After the policy's LoadTimeout other clients get responses
// of their own, and an older page replaces the response within stale-if-error. Without one the
// response goes to the client that started it, and is stored. Clients get a 503 while the Tiers allow no more loads, or a 504
// if must-revalidate forbids an older page. (TestSlowIsNoFailure, TestSlowResponseIsPassedOn,
// TestClientsLeave, TestNoAnswer)
//
// The context has no values of outer handlers. It has http.ServerContextKey, also for Warm. With it a reverse proxy panics when a
// body is cut short, so the half is not stored.
//
// If clients send credentials in another header than the usual ones, name it in
// Config.Credentials. It is better to check credentials in a handler in front of the cache. What that
// handler knows of the client is then in the context, where the handler behind the cache does not see it.
//
// # Cache-Status and Age
//
// Cache-Status (RFC 9211) says how the cache answered:
//
//   - "hit", with "detail=stale" if the page is stale;
//   - "fwd=uri-miss", "fwd=vary-miss" or "fwd=stale" if the handler ran because there was no
//     page, no variant for the client, or only an older page;
//   - "fwd=request" from a Transport if its caller asked for a newer response;
//   - "fwd=bypass" and "fwd=method" if the request did not use the cache.
//
// After a 304 that confirmed the stored response, the line is "fwd=stale; fwd-status=304; stored".
// "stored" means that the tiers were given the response; Warm checks whether they kept it.
// "collapsed" means that the client waited for another client's rendering. If a response was not
// stored, detail has the reason, under the name that Stats uses. With stale-if-error it is
// "fwd=stale; fwd-status=500; detail=stale-if-error". With Pages ttl is how long the cache keeps the page
// fresh. It is left out if that has no end, and of a stale page.
//
// Age counts from the beginning of the rendering.
//
// # Terms of other caches
//
//	nginx, Varnish, Rails                           here
//	proxy_cache_key                                 Config.Vary, Query, Tracking, Hosts
//	proxy_cache_lock, request coalescing            always; guarantees 5 and 6
//	proxy_cache_use_stale updating, beresp.grace    stale-while-revalidate, Fallback.Stale, policy Stale
//	proxy_cache_use_stale error, sick grace         stale-if-error, Fallback.StaleIfError, policy StaleIfError
//	proxy_cache_valid, beresp.ttl                   Fallback.TTL, or what the response says
//	proxy_cache_revalidate, beresp.keep             Config.Keep
//	proxy_cache_bypass, return (pass)               Config.Bypass
//	hit-for-miss                                    guarantee 6: ten seconds
//	PURGE, ban                                      Purge, PurgePath, PurgeAll, PurgeTags
//	xkey.softpurge                                  Expire, Tiers.Expire of a tag
//	Surrogate-Key, Cache-Tag, xkey                  cache.Depend; see the example of PurgeTags
//	gzip_static, do_gzip                            Config.Encodings
//	expires_in, fresh_when                          Cache-Control, and validators; Conditional without a cache
//	cache "post", post (fragments)                  a cache of package cache, read by the handler
//	touch: true, Russian doll caching               nothing: what a page is made of it depends on
package httpcache
