// Package fetch is the HTTP client of the example programs: polite to those it
// asks, safe with what they answer, and cached by the library.
//
// # What a Get does
//
//  1. The URL is checked: http or https, no user information, an allowed port.
//  2. An answer in the cache that is young enough for [Request.MaxAge] is
//     returned. Nobody is asked.
//  3. Otherwise the origin is asked, once however many callers want the same.
//     With a copy in the cache, whatever its age, the request is conditional: a
//     304 costs a header and confirms the copy.
//  4. Before each request, those of redirects included: robots.txt if the caller
//     wants it obeyed, the memory of hosts that did not answer a moment ago, and
//     the host's queue.
//  5. The connection is refused if the address it would go to is not public.
//  6. What comes is decoded and bounded while it comes, then cached: as it is, or
//     compressed if it is to be read as a stream ([Request.Packed]).
//
// # What is cached, and where
//
// Three namespaces of the [cache.Tiers] that the program gives, so that programs
// which share a remote tier share what they know:
//
//   - "http:v1": answers with their validators. An entry is fresh for a
//     millisecond, so that each poll reaches its loader, and kept for
//     [Config.Keep], so that the loader finds it with [cache.Previous]. Failures
//     are not answers and are not kept.
//   - "robots:v1": one robots.txt per origin. It is fresh for about a day, then
//     refreshed behind the reader's back, and stands in for one that cannot be
//     reached for 30 days (RFC 9309).
//   - "deadhost:v1": remembered errors alone, a host that did not resolve or
//     answer, for [Config.DeadFor].
//
// Keys of answers are hashes, so that no URL, header or token is in a key that a log or
// another program may show.
//
// # What is not done
//
// No cookies, no proxies, no brotli, no Range. Whether and when to ask again after a
// failure is the caller's to decide, Retry-After included ([StatusError]): it keeps
// the schedule. Vary is not looked at, because everything that a client sends for
// one URL is part of the answer's key.
package fetch
