// Package httpcache keeps HTTP responses in the tiers of package [cache]: in front of a
// handler, and behind an http.Client.
//
// A site's own pages stay until what they were made of is invalidated. The handler names
// that while it renders, and what it reads from other caches of the same Tiers it depends on
// without a word. Whoever writes invalidates the same tags:
//
//	tiers, err := cache.Open(cache.TiersConfig{})
//	pages, err := httpcache.New(httpcache.Config{
//		Tiers: tiers, KeyOnly: true, Lifetime: httpcache.UntilInvalidated, Hosts: []string{"example.com"},
//	})
//	mux.HandleFunc("GET /posts/{id}", func(w http.ResponseWriter, r *http.Request) {
//		cache.Depend(r.Context(), "post:"+r.PathValue("id"))
//		// render
//	})
//	http.ListenAndServe(addr, pages.Middleware(mux))
//	// and after a write: tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, "post:1"))
//
// In front of a handler or a proxy that one did not write, Tiers alone make a shared cache as
// RFC 9111 describes it:
//
//	tiers, err := cache.Open(cache.TiersConfig{})
//	shared, err := httpcache.New(httpcache.Config{Tiers: tiers, Hosts: []string{"example.com"}})
//	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(origin) }}
//	http.ListenAndServe(addr, shared.Handler(proxy))
//
// And a client's private cache:
//
//	tiers, err := cache.Open(cache.TiersConfig{})
//	transport, err := httpcache.NewTransport(httpcache.TransportConfig{Tiers: tiers})
//	client := &http.Client{Transport: transport}
//	res, err := client.Get("https://example.com/feed")
//
// # Two words carry the design
//
// Config.Lifetime says who ends the life of an entry: the response itself (FromResponse),
// or the program that invalidates what it was made of (UntilInvalidated). Both kinds can be
// invalidated by key, path and tag. Config.KeyOnly says what a handler that renders for all
// may see: what is in the key and nothing else, or the whole request of the client who asked
// first. All four combinations are valid. A program's own pages want KeyOnly and
// UntilInvalidated, with the values of VaryRules for what they depend on. The zero values are
// for a handler one did not write, which finds everything where it expects it.
//
// With the zero values it is the handler that decides what may be shared. One that knows its
// clients by something else than Authorization, Cookie or Config.Credentials, such as their
// address, or a value that outer handlers have put into the context, has to answer
// Cache-Control: private, as it must behind any shared cache; or it gets KeyOnly.
// At an edge set Hosts, for strangers choose Host; Secure, if something in front ends TLS; and
// Targets to "CDN-Cache-Control", if responses may speak to the edge apart. More than that a
// reverse proxy does not need.
//
// # What is stored
//
// Whole responses to GET, with a body of at most Config.MaxBody, a status of
// Config.Statuses, and nothing in their header that speaks against it. HEAD, and a Range of
// bytes, are answered from the same entries.
//
// With FromResponse a response is stored that names a lifetime (s-maxage, max-age, Expires),
// or that Fallback gives one, or that can be asked about: it has an ETag or Last-Modified, and
// says no-cache or a lifetime of zero. When its life is over it is kept for Config.Keep, and
// the handler is asked whether it still stands, by If-None-Match and If-Modified-Since. It is
// served stale within stale-while-revalidate and stale-if-error alone (RFC 5861), and not at
// all after must-revalidate, proxy-revalidate or s-maxage. It may vary on up to 8 request
// headers: the cache learns them, and each variant has an entry of its own.
//
// With UntilInvalidated a response without an ETag gets a strong one, of its representation;
// Date is left out. How long clients and caches further down may keep a response is theirs to
// read: max-age, s-maxage and Expires are passed on and change nothing here. After
// must-revalidate and proxy-revalidate it is not served stale.
//
// # What the key is
//
// The scheme, the host, the path as it was escaped, the query, and the request headers that
// Config.Vary declares for the path, in words:
//
//	default:http:v1:http//example.com/list?page=2|accept=application^2Fjson
//
// The query is sorted by name and spelled in one way; parameters for advertisers are dropped,
// and, where Config.Query lists those that matter, all others. The handler is not shown what
// was dropped. Variants that were learned, and encodings, have keys that begin with this one.
// The library compares keys in full; a request whose key would be over its limit of 1 KiB goes
// past the cache.
//
// # What is never stored
//
// By the request: all methods but GET and HEAD; Authorization (but see
// Config.SharedAuthorization), Proxy-Authorization, Cookie, the program's own credentials and
// client certificates, unless Config.AllowAuthorized or IgnoreCookie lets them in; a body; an
// upgrade; a Connection that names another header of the request; an event source; hosts that are not listed; paths with dot segments or empty ones,
// absolute targets, queries with ";" or bad escapes; what Config.Bypass names; what is asked
// for while another entry is being loaded. These requests reach the handler untouched, with
// the connection to themselves. With Cache-Control: no-store a client gets what is there, or a
// response of its own that is not stored, with only-if-cached what is there, or a 504. The
// other words of a client's Cache-Control and Pragma count for Config.ClientMayRefresh alone:
// if they counted for all, strangers could make the handler work.
//
// By the response, and no option changes it: Set-Cookie; Cache-Control with private, no-store
// or what is no directive at all (private and no-cache that are limited to some fields count as
// without them); Vary on "*"; 206 and Content-Range; event streams; trailers; upgrades; a
// Content-Length that is not the body's; informational responses, which are passed on. With
// UntilInvalidated also no-cache, and Vary on what is not declared.
//
// A response that grows over the cap goes on live to the client for whom it was begun. So
// does one that is flushed before it is whole; with FromResponse, where it names a lifetime,
// it is stored all the same, and others who wait for it get it when it is whole.
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
//  1. With KeyOnly, what is stored is made from its key alone. Without it nothing that
//     Hide names, or that the key leaves out, is in it. (TestHandlerSeesTheKeyAlone,
//     TestKeys, TestContextOfOuterHandlers, TestAllowAuthorized, TestPoisoning)
//  2. What is not for everybody is given to nobody but its client, and made from the
//     client's own request. That takes a second rendering only when something of that
//     request was hidden. A response is not for everybody if it may not be stored; with
//     UntilInvalidated, if it is marked so or its status answers one client only, such as
//     302 or 401, and is not among those stored. (TestNeverShared, TestNeverAsked,
//     TestWaitersOfAPrivateResponse, TestSharedCacheNeverShares, TestRenewedAsPrivate,
//     TestRefreshedForOthers, TestHandlerChangesItsRequest)
//  3. Clients cannot tell. With UntilInvalidated, and but for Age, Date and Cache-Status, a site answers as it
//     would with the cache off, to the byte, provided that its handler names what
//     it depends on, and that what Query and Vary take for the same is the same to
//     it. (TestTwins, TestHead, TestConditional)
//  4. Invalidated means gone, stale or not, with all variants and encodings, also for a
//     page that was being rendered, wherever in the rendering the invalidation falls, and
//     for one that a 304 has renewed. (TestFillRaces, TestReadYourWrites, TestPagesInherit,
//     TestStaleIfError, TestRenewedPagesInherit, TestInvalidatedWhileAsked,
//     TestPurgeVariants, TestVaryModel)
//  5. One rendering. However many clients want a page that is not there, the
//     handler is asked once, as long as one of them waits; nobody's hanging up
//     harms another. When the last has gone the handler's context is cancelled, and
//     nothing is stored: who asks and runs should not be able to keep a site busy.
//     A client that reads slowly harms no other either.
//     (TestCoalescing, TestHangUp, TestLastToHangUp, TestSlowReaderOfFlushed,
//     TestHangUpIsNotRemembered, TestSharedCacheMerges)
//  6. No queues for what cannot be shared. A key that was not for everybody is
//     remembered for ten seconds, in a table of fixed size, and its clients are
//     served side by side. (TestRememberedKeysDoNotQueue, TestMemoryIsBounded)
//  7. Streams stream: at once, once, with no more of them in memory than
//     Config.MaxBody, for longer than LoadTimeout, and until the client leaves.
//     (TestStream, TestStreamOutlivesLoadTimeout, TestTooLarge, TestPrivateStream,
//     TestFlushedAndStored, TestFlushedAndLeft, TestReverseProxy,
//     TestResponseController)
//  8. A panic breaks the connections of those who wait for the page, as it would have
//     broken one, and is not stored. (TestPanicReachesWaiters, TestPanicIsNotStored,
//     TestPanicInAStream)
//  9. A client that has a page is not sent it again: If-None-Match and
//     If-Modified-Since are answered 304 by RFC 9110 §13, by what was there and by
//     what was not. (TestConditional, TestConditionalNeedsSuccess, TestGeneratedETag)
//  10. Failures are not pages. A 5xx that names no lifetime is given to those who wait for it, and to nobody
//     after them. Within stale-if-error, or the policy's StaleIfError, an older page stands
//     in for it or for a panic; within stale-while-revalidate, or Stale, an older page is
//     served while it is made anew; one that was invalidated, or says must-revalidate,
//     never is. (TestFailureIsPassedOn, TestStaleIfError,
//     TestStaleWhileRevalidate, TestStaleIfSlow, TestStaleIsNoExcuseForPrivate,
//     TestSharedCache, TestSharedByProcesses, TestNoAnswer)
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
// pages are being rendered than the Tiers allow. Its context has http.ServerContextKey, also
// for Warm: a reverse proxy panics then when a body is cut short, and the half is not stored.
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
//
// # In other words
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
//	Surrogate-Key, Cache-Tag, xkey                  cache.Depend, Config.TagHeaders
//	gzip_static, do_gzip                            Config.Encodings
//	expires_in, fresh_when                          Cache-Control, and validators; Conditional without a cache
//	cache "post", post (fragments)                  a cache of package cache, read by the handler
//	touch: true, Russian doll caching               nothing: what a page is made of it depends on
package httpcache
