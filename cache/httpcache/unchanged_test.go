package httpcache_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// unrecorded are responses with the validator "v" that are not stored. They answer conditions.
func unrecorded() map[string]http.HandlerFunc {
	long := strings.Repeat("x", 2000)
	say := func(set func(h http.Header), body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			set(w.Header())
			w.Header().Set("Etag", `"v"`)
			if r.Header.Get("If-None-Match") == `"v"` {
				w.Header().Del("Content-Length")
				w.WriteHeader(http.StatusNotModified)
				return
			}
			for part := range strings.SplitSeq(body, "|") {
				_, _ = w.Write([]byte(part))
			}
		}
	}
	return map[string]http.HandlerFunc{
		"private":  say(func(h http.Header) { h.Set("Cache-Control", "private, max-age=60") }, "page"),
		"too long": say(func(h http.Header) { h.Set("Cache-Control", "max-age=60") }, long[:900]+"|"+long),
		"announced as too long": say(func(h http.Header) {
			h.Set("Cache-Control", "max-age=60")
			h.Set("Content-Length", strconv.Itoa(len(long)))
		}, long),
	}
}

// A client that has a response does not get it again, even if the response is not stored, and the source has
// not seen the client's condition.
func TestUnchangedAndNotStored(t *testing.T) {
	for name, h := range unrecorded() {
		t.Run(name, func(t *testing.T) {
			sides(t, httpcache.Config{MaxBody: 1000}, func() http.Handler { return h }, func(t *testing.T, get func(header ...string) answer) {
				for range 2 {
					if a := get("If-None-Match", `"v"`); a.status != http.StatusNotModified || a.body != "" || a.header.Get("Etag") != `"v"` || a.header.Get("Content-Length") != "" {
						t.Errorf("the client that has it gets %v", a)
					}
					sleep(t, "1m") // a refusal is remembered for a moment
					if a := get("If-None-Match", `"other"`); a.status != http.StatusOK || a.body == "" {
						t.Errorf("a client with another one gets %v", a)
					}
					sleep(t, "1m")
				}
			})
		})
	}
}
