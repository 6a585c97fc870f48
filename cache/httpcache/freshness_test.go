package httpcache_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

const validated = "max-age=10"

// RFC 9111, section by section: with Tiers alone the cache is a shared cache.
func TestSharedCache(t *testing.T) {
	t.Parallel()
	handlers, shared, clients, pages := []side{handlerSide}, []side{sharedSide}, []side{privateSide}, []side{pagesSide}
	token, preset := []string{"Authorization", "a"}, httpcache.Config{Fallback: httpcache.StaleWhileRevalidate()}
	long := "/" + strings.Repeat("x", 960)
	const date = "Fri, 31 Dec 1999 23:59:50 GMT"
	cc := func(v string, more ...string) []string { return append([]string{"Cache-Control", v}, more...) }
	again := visit{asked: 2, body: "body 2"}
	hit := visit{asked: 1, body: "body 1", how: "hit"}
	miss := visit{asked: 1, body: "body 1", how: "fwd=uri-miss"}
	scripts := []script{
		// §3, what is stored.
		{name: "silent", origin: [][]string{{}}, visits: []visit{miss, again}},
		{name: "max-age", origin: [][]string{cc("max-age=10")}, visits: []visit{miss, hit, {after: "9s", asked: 1, how: "hit;ttl=1", with: []string{"Age", "9"}}, {after: "1s", asked: 2, body: "body 2"}}},
		{name: "s-maxage before max-age", origin: [][]string{cc("max-age=1, s-maxage=10")}, visits: []visit{miss, {after: "5s", asked: 1, how: "hit"}}},
		{name: "Expires", origin: [][]string{{"Expires", "10s", "Date", "0s"}}, visits: []visit{miss, {after: "9s", asked: 1, how: "hit"}, {after: "2s", asked: 2}}},
		{name: "Expires of 0", origin: [][]string{{"Expires", "0"}}, visits: []visit{miss, again}},
		{name: "max-age before Expires", origin: [][]string{cc("max-age=0", "Expires", "1h")}, visits: []visit{miss, again}},
		{name: "max-age that is no number", origin: [][]string{cc("max-age=x", "Expires", "1h")}, visits: []visit{miss, again}},
		{name: "two max-age", origin: [][]string{cc("max-age=100, max-age=1")}, visits: []visit{miss, {after: "2s", asked: 2}}},
		{name: "age of an inner cache", origin: [][]string{cc("max-age=10", "Age", "7")}, visits: []visit{{asked: 1, with: []string{"Age", "7"}}, {after: "2s", asked: 1, how: "hit;ttl=1", with: []string{"Age", "9"}}, {after: "1s", asked: 2}}},
		{name: "old already", origin: [][]string{cc("max-age=10", "Age", "10")}, visits: []visit{miss, again}},
		{name: "Date long ago", origin: [][]string{cc("max-age=10", "Date", "-8s")}, visits: []visit{miss, {after: "1s", asked: 1, how: "hit"}, {after: "1s", asked: 2}}},
		{name: "no-store", origin: [][]string{cc("no-store, max-age=10")}, visits: []visit{miss, again}},
		{name: "private", origin: [][]string{cc("private, max-age=10")}, visits: []visit{miss, again}},
		{name: "private with fields", origin: [][]string{cc(`private="x", max-age=10`)}, visits: []visit{miss, again}},
		{name: "no directive", origin: [][]string{cc(`max-age=10; no-store`)}, visits: []visit{miss, again}},
		{name: "Set-Cookie", origin: [][]string{cc("public, max-age=10", "Set-Cookie", "a=b")}, visits: []visit{miss, again}},
		{name: "Vary on *", origin: [][]string{cc("max-age=10", "Vary", "*")}, visits: []visit{miss, again}},
		{name: "partial", origin: [][]string{cc("max-age=10", ":status", "206", "Content-Range", "bytes 0-5/9")}, visits: []visit{{status: 206, asked: 1}, {status: 206, asked: 2}}},
		{name: "302 with a lifetime", origin: [][]string{cc("max-age=10", ":status", "302")}, visits: []visit{{status: 302, asked: 1}, {status: 302, asked: 1, how: "hit"}}},
		{name: "503 with a lifetime", origin: [][]string{cc("max-age=10", ":status", "503")}, visits: []visit{{status: 503, asked: 1}, {status: 503, asked: 1, how: "hit"}}},
		{name: "503 without", origin: [][]string{{":status", "503"}}, visits: []visit{{status: 503, asked: 1}, {status: 503, asked: 2}}},
		{name: "unknown status", origin: [][]string{cc("max-age=10", ":status", "599")}, visits: []visit{{status: 599, asked: 1}, {status: 599, asked: 1, how: "hit"}}},
		{name: "must-understand", origin: [][]string{cc("max-age=10, must-understand", ":status", "599")}, visits: []visit{{status: 599, asked: 1}, {status: 599, asked: 2}}},
		{name: "must-understand, understood", origin: [][]string{cc("max-age=10, must-understand, no-store")}, visits: []visit{miss, hit}},
		{name: "Pragma", origin: [][]string{{"Pragma", "no-cache", "Expires", "1h"}}, visits: []visit{miss, again}},
		{name: "404 with a lifetime", origin: [][]string{cc("max-age=10", ":status", "404")}, visits: []visit{{status: 404, asked: 1}, {status: 404, asked: 1, how: "hit"}}},
		{name: "no-store with a validator", origin: [][]string{cc("no-store, max-age=10", "Etag", `"a"`)}, visits: []visit{miss, again}},
		{name: "Content-Range", origin: [][]string{cc("max-age=10", "Content-Range", "bytes 0-1/2")}, visits: []visit{miss, again}},
		{name: "event stream", origin: [][]string{cc("max-age=10", "Content-Type", "text/event-stream")}, visits: []visit{miss, again}},
		{name: "304 to no condition", origin: [][]string{cc("max-age=10", ":status", "304", "Etag", `"a"`)}, visits: []visit{{status: 304, asked: 1}, {status: 304, asked: 2}}},
		{name: "long header", origin: [][]string{cc("max-age=10", "X", strings.Repeat("x", 65<<10))}, visits: []visit{miss, again}},
		{name: "private, for a client", on: clients, origin: [][]string{cc("private, max-age=10")}, visits: []visit{miss, hit}},
		{name: "s-maxage, for a client", on: clients, origin: [][]string{cc("s-maxage=10")}, visits: []visit{miss, again}},
		// §3.1, fields.
		{name: "hop by hop", origin: [][]string{cc("max-age=10", "Connection", "x-a, Keep-Alive", "X-A", "1", "Keep-Alive", "1", "Proxy-Connection", "close", "Proxy-Authenticate", "x", "X-B", "2")},
			visits: []visit{miss, {asked: 1, how: "hit", with: []string{"Connection", "-", "X-A", "-", "Keep-Alive", "-", "Proxy-Connection", "-", "Proxy-Authenticate", "-", "X-B", "2"}}}},
		{name: "hop by hop, and a date that is the server's", on: pages, origin: [][]string{{"Connection", "x-a", "X-A", "1", "Date", "-1h", "X-B", "2"}}, visits: []visit{
			{asked: 1, with: []string{"Connection", "-", "X-A", "-", "Date", "-", "X-B", "2"}}, {asked: 1, how: "hit", with: []string{"X-A", "-", "Date", "-", "X-B", "2"}},
		}},
		// §3.5, Authorization.
		{name: "authorized", on: handlers, origin: [][]string{cc("max-age=10")}, visits: []visit{{header: []string{"Authorization", "a"}, asked: 1, how: "fwd=bypass"}, {asked: 2}, {header: []string{"Authorization", "a"}, asked: 3}}},
		{name: "allowed", on: handlers, cfg: httpcache.Config{AllowAuthorized: anybody}, origin: [][]string{cc("max-age=10", "Vary", "Authorization")},
			visits: []visit{{header: []string{"Authorization", "a"}, asked: 1}, {asked: 1, how: "hit"}, {header: []string{"Authorization", "b"}, asked: 1, how: "hit"}}},
		{name: "authorized, for a shared client", on: shared, origin: [][]string{cc("max-age=10")}, visits: []visit{{header: token, asked: 1}, {header: token, asked: 2}}},
		{name: "authorized and public, for a shared client", on: shared, origin: [][]string{cc("public, max-age=10")}, visits: []visit{{header: token, asked: 1}, {header: token, asked: 1, how: "hit"}}},
		{name: "authorized, for a client", on: clients, origin: [][]string{cc("max-age=10")}, visits: []visit{{header: token, asked: 1}, {header: token, asked: 1, how: "hit"}}},
		{name: "cookie", on: handlers, origin: [][]string{cc("max-age=10")}, visits: []visit{{header: []string{"Cookie", "a=b"}, asked: 1, how: "fwd=bypass"}, {asked: 2}}},
		{name: "ignored cookie", on: handlers, cfg: httpcache.Config{IgnoreCookie: func(n string) bool { return n == "_ga" }}, origin: [][]string{cc("max-age=10")},
			visits: []visit{{header: []string{"Cookie", "_ga=b"}, asked: 1}, {asked: 1, how: "hit"}, {header: []string{"Cookie", "_ga=c; id=1"}, asked: 2, how: "fwd=bypass"}}},
		{name: "a cookie that the handler does not see", on: handlers, cfg: httpcache.Config{IgnoreCookie: func(string) bool { return true }}, origin: [][]string{cc("max-age=10", "Vary", "Cookie")},
			visits: []visit{{header: []string{"Cookie", "_ga=b"}, asked: 1}, {asked: 1, how: "hit"}}},
		// §4, methods.
		{name: "HEAD", origin: [][]string{cc("max-age=10")}, visits: []visit{{method: "HEAD", asked: 1, how: "fwd=bypass"}, {asked: 2}, {method: "HEAD", asked: 2, how: "hit"}}},
		{name: "other methods", origin: [][]string{cc("max-age=10")}, visits: []visit{
			{method: "OPTIONS", asked: 1, how: "fwd=method"}, {method: "OPTIONS", asked: 2, how: "fwd=method"}, {asked: 3}, {method: "TRACE", asked: 4, how: "fwd=method"}, {asked: 4, body: "body 3", how: "hit"},
		}},
		// §4.1, Vary.
		{name: "Vary", origin: [][]string{cc("max-age=100", "Vary", "X-L")}, visits: []visit{
			{header: []string{"X-L", "a"}, asked: 1, body: "body 1"}, {header: []string{"X-L", "b"}, asked: 2, body: "body 2", how: "fwd=vary-miss"},
			{header: []string{"X-L", "a"}, asked: 2, body: "body 1", how: "hit"}, {header: []string{"X-L", "b"}, asked: 2, body: "body 2", how: "hit"}, {asked: 3, body: "body 3"},
			{header: []string{"X-L", " b "}, asked: 3, body: "body 2"},
		}},
		{name: "Vary on too much", origin: [][]string{cc("max-age=10", "Vary", "A,B,C,D,E,F,G,H,I")}, visits: []visit{miss, again}},
		{name: "Vary on two", origin: [][]string{cc("max-age=100", "Vary", "accept-language, X")}, visits: []visit{
			{header: []string{"Accept-Language", "de"}, asked: 1}, {header: []string{"Accept-Language", "de", "X", "1"}, asked: 2, body: "body 2", how: "fwd=vary-miss;stored"},
			{header: []string{"Accept-Language", " DE ", "Y", "1"}, asked: 2, body: "body 1", how: "hit"}, {method: "HEAD", header: []string{"Accept-Language", "de", "X", "1"}, asked: 2, how: "hit"},
		}},
		{name: "the first variant is stale", origin: [][]string{cc("max-age=60", "Vary", "X-L")}, visits: []visit{
			{header: []string{"X-L", "a"}, asked: 1}, {after: "61s", header: []string{"X-L", "b"}, asked: 2}, {header: []string{"X-L", "b"}, asked: 2, how: "hit"},
			{header: []string{"X-L", "a"}, asked: 3, body: "body 3"}, {header: []string{"X-L", "b"}, asked: 3, body: "body 2", how: "hit"},
		}},
		{name: "a fresh variant answers without its origin, though the first page is stale", origin: [][]string{cc("max-age=10, stale-while-revalidate=60", "Vary", "X-L")}, visits: []visit{
			{header: []string{"X-L", "a"}, asked: 1}, {after: "10s", header: []string{"X-L", "b"}, asked: 2, body: "body 2"}, {method: "HEAD", header: []string{"X-L", "b"}, asked: 2, how: "hit"},
			{header: []string{"X-L", "b", "Cache-Control", "only-if-cached"}, asked: 2, body: "body 2", how: "hit"}, {header: []string{"X-L", "b", "Range", "bytes=0-0"}, status: 206, asked: 2, body: "b", how: "hit"},
			{method: "HEAD", header: []string{"X-L", "a"}, asked: 3, how: "hit;detail=stale"},
		}},
		{name: "a variant outlives the first one", origin: [][]string{cc("max-age=10", "Vary", "X-L"), cc("max-age=100", "Vary", "X-L")}, visits: []visit{
			{header: []string{"X-L", "a"}, asked: 1}, {header: []string{"X-L", "b"}, asked: 2}, {after: "20s", header: []string{"X-L", "b"}, asked: 2, how: "hit;ttl=80"},
		}},
		{name: "no variant's key fits", on: handlers, origin: [][]string{cc("max-age=60", "Vary", "X-L")}, visits: []visit{
			{target: long, header: []string{"X-L", "a"}, asked: 1, body: "body 1"}, {target: long, header: []string{"X-L", "b"}, asked: 2, body: "body 2"},
			{target: long, header: []string{"X-L", "b"}, asked: 3, body: "body 3"}, {target: long, header: []string{"X-L", "a"}, asked: 3, body: "body 1"},
		}},
		{name: "no variant's key fits", on: shared, origin: [][]string{cc("max-age=60", "Vary", "X-L")}, visits: []visit{
			{target: long, header: []string{"X-L", "a"}, asked: 1, body: "body 1"}, {target: long, header: []string{"X-L", "b"}, asked: 2, body: "body 2"},
			{target: long, header: []string{"X-L", "b"}, asked: 3, body: "body 3"}, {target: long, header: []string{"X-L", "a"}, asked: 4, body: "body 4"},
		}},
		{name: "one variant is gone", origin: [][]string{cc("max-age=10, stale-while-revalidate=86400", "Vary", "X-L"), cc("max-age=10, stale-while-revalidate=86400", "Vary", "X-L"), {":status", "404", "Vary", "X-L"}}, visits: []visit{
			{header: []string{"X-L", "a"}, asked: 1}, {header: []string{"X-L", "b"}, asked: 2}, {after: "20s", header: []string{"X-L", "b"}, asked: 3, body: "body 2"},
			{after: "11s", header: []string{"X-L", "b"}, asked: 4, status: 404}, {header: []string{"X-L", "a"}, asked: 5, body: "body 1", how: "hit"},
		}},
		{name: "Vary changes", origin: [][]string{cc("max-age=100", "Vary", "X-L"), cc("max-age=100", "Vary", "X-L, X-M"), cc("max-age=100", "Vary", "X-L, X-M")}, visits: []visit{
			{header: []string{"X-L", "a"}, asked: 1}, {header: []string{"X-L", "b", "X-M", "1"}, asked: 2, body: "body 2"},
			{header: []string{"X-L", "b", "X-M", "2"}, asked: 3, body: "body 3"}, {header: []string{"X-L", "b", "X-M", "2"}, asked: 3, body: "body 3", how: "hit"},
		}},
		{name: "a variant that is served stale is renewed for its own", origin: [][]string{cc("max-age=10, stale-while-revalidate=10", "Vary", "X-L")}, visits: []visit{
			{header: []string{"X-L", "a"}, asked: 1}, {after: "11s", header: []string{"X-L", "b"}, asked: 2}, {header: []string{"X-L", "a"}, asked: 3, how: "hit;detail=stale"}, {header: []string{"X-L", "a"}, asked: 3, how: "hit;ttl"}, {header: []string{"X-L", "b"}, asked: 3, how: "hit;ttl"},
		}},
		// §4.2.2, heuristics. The age counts from the header, even if the body takes long.
		{name: "slow body", origin: [][]string{cc("max-age=30", ":flush", "20s")}, visits: []visit{miss, {after: "5s", asked: 1, how: "hit", with: []string{"Age", "25"}}, {after: "6s", asked: 2, body: "body 2"}}},
		{name: "heuristic is off", origin: [][]string{{"Last-Modified", "-100s"}}, visits: []visit{miss, again}},
		{name: "heuristic", cfg: httpcache.Config{Fallback: httpcache.Fallback{Heuristic: 0.1}}, origin: [][]string{{"Last-Modified", "-100s", "Date", "0s"}, {}}, visits: []visit{miss, {after: "9s", asked: 1, how: "hit"}, {after: "2s", asked: 2}}},
		{name: "fallback", cfg: httpcache.Config{Fallback: httpcache.Fallback{TTL: 5e9}}, origin: [][]string{{}}, visits: []visit{miss, {after: "4s", asked: 1, how: "hit"}, {after: "2s", asked: 2}}},
		{name: "fallback that serves stale", cfg: httpcache.Config{Fallback: httpcache.Fallback{Stale: 10e9}}, origin: [][]string{cc("max-age=60")}, visits: []visit{miss, {after: "61s", asked: 2, body: "body 1", how: "hit;detail=stale"}}},
		{name: "preset", cfg: preset, origin: [][]string{{}}, visits: []visit{
			miss, {after: "59s", asked: 1, how: "hit"}, {after: "60s", asked: 2, body: "body 1", how: "hit;detail=stale"}, {asked: 2, body: "body 2", how: "hit"}, {after: "121s", asked: 3, body: "body 3"},
		}},
		{name: "preset, after the lifetime of the response", cfg: preset, origin: [][]string{cc("max-age=5")}, visits: []visit{miss, {after: "6s", asked: 2, body: "body 1", how: "hit;detail=stale"}}},
		{name: "preset, and must-revalidate", cfg: preset, origin: [][]string{cc("max-age=60, must-revalidate")}, visits: []visit{miss, {after: "61s", asked: 2, body: "body 2"}}},
		// §4.2.4 and RFC 5861, stale.
		{name: "stale-while-revalidate", origin: [][]string{cc("max-age=10, stale-while-revalidate=10")}, visits: []visit{miss, {after: "11s", asked: 2, body: "body 1", how: "hit;detail=stale", with: []string{"Age", "11"}}, {asked: 2, body: "body 2", how: "hit"}}},
		{name: "too stale", origin: [][]string{cc("max-age=10, stale-while-revalidate=10")}, visits: []visit{miss, {after: "21s", asked: 2, body: "body 2"}}},
		{name: "stale, and must-revalidate", origin: [][]string{cc("max-age=10, stale-while-revalidate=10, stale-if-error=10, must-revalidate"), {":status", "500"}}, visits: []visit{miss, {after: "11s", asked: 2, status: 500}}},
		{name: "stale, and s-maxage", origin: [][]string{cc("s-maxage=10, stale-if-error=10"), {":status", "500"}}, visits: []visit{miss, {after: "11s", asked: 2, status: 500}}},
		{name: "stale-if-error", origin: [][]string{cc("max-age=10, stale-if-error=10"), {":status", "502"}}, visits: []visit{miss, {after: "11s", asked: 2, body: "body 1", how: "fwd=stale;fwd-status=502"}, {after: "10s", asked: 3, status: 502}}},
		{name: "stale-if-error, and the failure is flushed", origin: [][]string{cc("max-age=10, stale-if-error=60"), {":status", "503", ":flush", "0s"}}, visits: []visit{miss, {after: "11s", asked: 2, body: "body 1", how: "fwd=stale;fwd-status=503;detail=stale-if-error"}}},
		{name: "stale, if not implemented", origin: [][]string{cc("max-age=10, stale-if-error=10"), {":status", "501"}}, visits: []visit{miss, {after: "11s", asked: 2, status: 501}}},
		{name: "stale, if there is no answer", origin: [][]string{cc("max-age=10, stale-if-error=10"), {":panic", ""}}, visits: []visit{miss, {after: "11s", asked: 2, body: "body 1", how: "fwd=stale;detail=stale-if-error"}, {after: "10s", asked: 3, status: broken}}},
		{name: "stale, if not found", origin: [][]string{cc("max-age=10, stale-if-error=10"), {":status", "404"}}, visits: []visit{miss, {after: "11s", asked: 2, status: 404}}},
		{name: "failure of a refresh", origin: [][]string{cc("max-age=10"), {":status", "503"}}, visits: []visit{miss, {after: "11s", asked: 2, status: 503}}},
		// §4.3, revalidation.
		{name: "no-cache", origin: [][]string{cc("no-cache", "Etag", `"a"`), cc("no-cache", "Etag", `"a"`, ":status", "304")}, visits: []visit{miss, {asked: 2, body: "body 1", how: "fwd=stale"}, {asked: 3, body: "body 1"}}},
		{name: "no-cache without a validator", origin: [][]string{cc("no-cache")}, visits: []visit{miss, again}},
		{name: "304", origin: [][]string{cc(validated, "Etag", `"a"`, "X-A", "1", "Content-Type", "text/plain"), cc("max-age=20", "Etag", `"a"`, "X-A", "2", "Content-Type", "no", ":status", "304")}, visits: []visit{
			miss, {after: "10s", asked: 2, body: "body 1", how: "fwd=stale", with: []string{"X-A", "2", "Content-Type", "text/plain"}}, {after: "19s", asked: 2, body: "body 1", how: "hit;ttl=1"},
		}},
		{name: "validators are asked about", origin: [][]string{cc(validated, "Etag", `"a"`, "Last-Modified", date), cc(validated, "Set-Cookie", "a=b", ":status", "304")}, visits: []visit{
			miss, {after: "10s", asked: 2, body: "body 1", how: "fwd=stale;fwd-status=304;stored", sees: []string{"If-None-Match", `"a"`, "If-Modified-Since", date}, with: []string{"Set-Cookie", "a=b"}},
			{asked: 2, body: "body 1", how: "hit;ttl=10", with: []string{"Set-Cookie", "-", "Age", "0"}},
		}},
		{name: "weak 304 about another", origin: [][]string{cc(validated, "Etag", `"a"`), cc(validated, "Etag", `W/"b"`, ":status", "304"), cc(validated)}, visits: []visit{miss, {after: "10s", asked: 3, body: "body 3", how: "fwd=stale;stored", sees: []string{"If-None-Match", "-"}}}},
		{name: "weak 304 about the same", origin: [][]string{cc(validated, "Etag", `"a"`), cc(validated, "Etag", `W/"a"`, ":status", "304")}, visits: []visit{miss, {after: "10s", asked: 2, body: "body 1", how: "fwd=stale;fwd-status=304;stored"}}},
		{name: "304 that varies", origin: [][]string{cc(validated, "Etag", `"a"`), cc(validated, "Vary", "X-L", ":status", "304"), cc(validated, "Vary", "X-L")}, visits: []visit{
			{header: []string{"X-L", "1"}, asked: 1}, {after: "10s", header: []string{"X-L", "1"}, asked: 2, body: "body 1"}, {header: []string{"X-L", "2"}, asked: 3, body: "body 3"}, {header: []string{"X-L", "1"}, asked: 3, body: "body 1", how: "hit"},
		}},
		{name: "304 that varies on all", origin: [][]string{cc(validated, "Etag", `"a"`), cc(validated, "Vary", "*", ":status", "304"), cc(validated)}, visits: []visit{miss, {after: "10s", asked: 2, body: "body 1"}, {asked: 3, body: "body 3"}}},
		{name: "304 that says no-store", origin: [][]string{cc(validated, "Etag", `"a"`), cc("no-store", ":status", "304"), {}}, visits: []visit{miss, {after: "10s", asked: 2, body: "body 1"}, {asked: 3, body: "body 3"}}},
		{name: "no-cache until a 304 ends it", origin: [][]string{cc("no-cache", "Etag", `"a"`), cc(validated, ":status", "304")}, visits: []visit{miss, {asked: 2, body: "body 1", how: "fwd=stale;fwd-status=304"}, {asked: 2, how: "hit"}}},
		{name: "304 by date", origin: [][]string{cc(validated, "Last-Modified", "-9s"), cc(validated, ":status", "304")}, visits: []visit{miss, {after: "10s", asked: 2, body: "body 1"}, {asked: 2, how: "hit"}}},
		{name: "304 about another", origin: [][]string{cc(validated, "Etag", `"a"`), cc(validated, "Etag", `"b"`, ":status", "304"), cc(validated, "Etag", `"b"`)}, visits: []visit{miss, {after: "10s", asked: 3, body: "body 3"}, {asked: 3, how: "hit", body: "body 3"}}},
		{name: "200 in place of 304", origin: [][]string{cc(validated, "Etag", `"a"`), cc(validated, "Etag", `"b"`)}, visits: []visit{miss, {after: "10s", asked: 2, body: "body 2"}, {asked: 2, how: "hit", body: "body 2"}}},
		{name: "part that nobody asked for", origin: [][]string{cc(validated, "Etag", `"a"`), cc("no-store", ":status", "206"), cc(validated, ":status", "304")}, visits: []visit{
			miss, {after: "10s", status: 206, asked: 2}, {after: "11s", asked: 3, body: "body 1", how: "fwd=stale;fwd-status=304"},
		}},
		{name: "304 that says private", origin: [][]string{cc(validated, "Etag", `"a"`), cc("private", "Etag", `"a"`, ":status", "304"), cc(validated)}, visits: []visit{miss, {after: "10s", asked: 2, body: "body 1"}, {asked: 3}}},
		{name: "kept for an hour", origin: [][]string{cc(validated, "Etag", `"a"`), cc(validated, "Etag", `"a"`, ":status", "304")}, visits: []visit{miss, {after: "59m", asked: 2, body: "body 1"}}},
		{name: "kept no longer", origin: [][]string{cc(validated, "Etag", `"a"`), cc(validated, "Etag", `"a"`)}, visits: []visit{miss, {after: "61m", asked: 2, body: "body 2"}}},
		// §4.3.2, the client's conditions.
		{name: "client has it", origin: [][]string{cc(validated, "Etag", `"a"`)}, visits: []visit{miss, {header: []string{"If-None-Match", `"a"`}, status: 304, asked: 1, how: "hit"}, {header: []string{"If-None-Match", `"b"`}, asked: 1, how: "hit"}}},
		{name: "client has it, and the page is flushed", on: handlers, origin: [][]string{cc(validated, "Etag", `"a"`, ":flush", "0s")}, visits: []visit{{header: []string{"If-None-Match", `"a"`}, status: 304, asked: 1}, hit}},
		{name: "client has it, cache not", on: handlers, origin: [][]string{cc(validated, "Etag", `"a"`)}, visits: []visit{{header: []string{"If-None-Match", `"a"`}, status: 304, asked: 1}, hit}},
		// §5.2.1, directives of clients.
		{name: "request no-store", origin: [][]string{cc(validated)}, visits: []visit{{header: []string{"Cache-Control", "no-store"}, asked: 1}, {asked: 2}, {header: []string{"Cache-Control", "no-store"}, asked: 2, how: "hit"}}},
		{name: "only-if-cached", origin: [][]string{cc(validated)}, visits: []visit{{header: []string{"Cache-Control", "only-if-cached"}, status: 504}, miss, {header: []string{"Cache-Control", "only-if-cached"}, asked: 1, how: "hit"}}},
		{name: "only-if-cached, of a request that bypasses the cache", on: handlers, origin: [][]string{cc(validated)}, visits: []visit{
			{header: []string{"Cache-Control", "only-if-cached", "Cookie", "a=b"}, status: 504, how: "fwd=bypass"}, {method: "HEAD", header: []string{"Cache-Control", "only-if-cached", "Cookie", "a=b"}, status: 504},
			{method: "POST", header: []string{"Cache-Control", "only-if-cached"}, asked: 1},
		}},
		{name: "only-if-cached, and Bypass", on: handlers, cfg: httpcache.Config{Bypass: anybody}, origin: [][]string{cc(validated)}, visits: []visit{{header: []string{"Cache-Control", "only-if-cached"}, asked: 1, how: "fwd=bypass;detail=program"}}},
		{name: "strangers cannot refresh", on: handlers, origin: [][]string{cc(validated)}, visits: []visit{
			miss, {header: []string{"Cache-Control", "no-cache", "Pragma", "no-cache"}, asked: 1, how: "hit"}, {header: []string{"Pragma", "no-cache"}, asked: 1, how: "hit"},
			{after: "1s", header: []string{"Cache-Control", "max-age=0, min-fresh=60"}, asked: 1, how: "hit"}, {after: "9s", header: []string{"Cache-Control", "max-stale"}, asked: 2, how: "fwd=uri-miss"},
		}},
		// RFC 9213.
		{name: "not targeted", origin: [][]string{cc("max-age=10", "Cdn-Cache-Control", "no-store")}, visits: []visit{miss, hit}},
		{name: "targeted", on: handlers, cfg: httpcache.Config{Targets: []string{"CDN-Cache-Control"}}, origin: [][]string{cc("no-store", "Cdn-Cache-Control", "max-age=10")}, visits: []visit{miss, hit, {after: "10s", asked: 2}}},
	}
	// Values that differ in more than spelling select different variants.
	for _, c := range [][2][]string{
		{{"Accept", `a/b;profile="urn:A"`}, {"Accept", `a/b;profile="urn:a"`}}, {{"Accept", `a/b;v=A`}, {"Accept", `a/b;v=a`}}, {nil, {"Accept-Encoding", ""}},
	} {
		scripts = append(scripts, script{name: fmt.Sprintf("variants of %q", c), origin: [][]string{cc("max-age=60", "Vary", "Accept, Accept-Encoding")}, visits: []visit{
			{header: c[0], asked: 1, body: "body 1"}, {header: c[1], asked: 2, body: "body 2"}, {header: c[0], asked: 2, body: "body 1"}, {header: c[1], asked: 2, body: "body 2"},
		}})
	}
	play(t, scripts)
}

// A write ends the pages of its path on its own host only.
func TestWriteOfOneHost(t *testing.T) {
	a, b := []string{"Host", "a.example"}, []string{"Host", "b.example"}
	s := script{name: "host", origin: [][]string{{"Cache-Control", minute}}, visits: []visit{
		{header: a, asked: 1}, {header: b, asked: 2}, {method: "POST", header: []string{"Host", "A.example:80"}, asked: 3}, {header: a, asked: 4}, {header: b, asked: 4, how: "hit"},
	}}
	s.run(t)
}

// Cache-Status is appended to that of the caches nearer to the origin, also if the handler answers directly (RFC
// 9211 §2).
func TestCacheStatusOfOthers(t *testing.T) {
	t.Parallel()
	pages, handlers, inner := []side{pagesSide}, []side{handlerSide}, [][]string{{"Cache-Status", "inner; hit"}}
	cfg, says := httpcache.Config{Name: "outer"}, func(line string) []string { return []string{"Cache-Status", line} }
	cookie := []string{"Cookie", "a=b"}
	play(t, []script{
		{name: "a page", on: pages, cfg: cfg, origin: inner, visits: []visit{{asked: 1}, {asked: 1, with: says("inner; hit, outer;hit")}}},
		{name: "set-cookie", on: pages, cfg: cfg, origin: [][]string{{"Cache-Status", "inner; hit", "Set-Cookie", "a=b"}}, visits: []visit{{asked: 2, with: says("inner; hit, outer;fwd=uri-miss;detail=set-cookie")}}},
		{name: "directly", on: handlers, cfg: cfg, origin: inner, visits: []visit{
			{header: cookie, asked: 1, with: says("inner; hit, outer;fwd=bypass;detail=credentials")}, {method: "POST", asked: 2, with: says("inner; hit, outer;fwd=method")},
			{header: []string{"Cache-Control", "no-store"}, asked: 3, with: says("inner; hit, outer;fwd=bypass;detail=request-no-store")},
		}},
		{name: "of a client", on: []side{sharedSide, privateSide}, origin: inner, visits: []visit{
			{header: []string{"Cache-Control", "no-store"}, asked: 1, with: says("inner; hit, twofold;fwd=bypass;detail=request-no-store")}, {method: "POST", asked: 2, with: says("inner; hit, twofold;fwd=method")},
		}},
		{name: "no other", on: handlers, cfg: cfg, origin: [][]string{nil}, visits: []visit{{header: cookie, asked: 1, with: says("outer;fwd=bypass;detail=credentials")}}},
		{name: "flushed", on: handlers, cfg: cfg, origin: [][]string{append(inner[0], ":flush", "0s")}, visits: []visit{{header: cookie, asked: 1, with: says("inner; hit, outer;fwd=bypass;detail=credentials")}}},
	})
}

// After Expire the old page is served as stale, and one request renews it, although its own lifetime is not
// over. A load that leaves the page as it is leaves it stale.
func TestExpired(t *testing.T) {
	t.Parallel()
	const swr = "max-age=60, stale-while-revalidate=60"
	renewed := visit{asked: 2, body: "body 2", how: "hit"}
	scripts := []script{
		{name: "stale while revalidating", origin: [][]string{{"Cache-Control", swr}}, visits: []visit{{asked: 1}, {act: expired, asked: 2, body: "body 1", how: "hit;detail=stale"}, renewed}},
		{name: "never stale", origin: [][]string{{"Cache-Control", minute}}, visits: []visit{{asked: 1}, {act: expired, asked: 2, body: "body 2", how: "fwd="}, renewed}},
	}
	for _, demand := range []string{"max-stale", "max-stale=100", "only-if-cached", "only-if-cached, max-stale", "min-fresh=1", "max-age=100"} {
		for _, cc := range []string{swr, minute} {
			asks := visit{act: expired, header: []string{"Cache-Control", demand}, asked: 2, body: "body 2"}
			if strings.HasPrefix(demand, "only") {
				asks.asked, asks.status, asks.body = 1, 504, ""
			}
			scripts = append(scripts, script{name: demand + " " + cc, on: []side{privateSide}, origin: [][]string{{"Cache-Control", cc}}, visits: []visit{
				{asked: 1}, asks, {after: "1s", asked: 2}, renewed,
			}})
		}
	}
	play(t, scripts)
}
