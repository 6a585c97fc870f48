package httpcache_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A 304 that nobody asked for, about another response, confirms nothing.
func TestTransportUnasked304(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := func(*http.Request) *http.Response {
			return says(http.StatusNotModified, "", "Cache-Control", minute, "Etag", `"two"`)
		}
		c := transport(t, scripted(
			replies(http.StatusOK, "one", "Cache-Control", minute, "Etag", `"one"`), other, other,
			replies(http.StatusOK, "two", "Cache-Control", minute, "Etag", `"two"`),
		), httpcache.TransportConfig{})
		if a := c.get(t); a.body != "one" {
			t.Fatalf("%v", a)
		}
		<-time.After(2 * time.Minute)
		if a := c.get(t); a.body == "one" {
			t.Errorf("the old body has another's validator: %v", a)
		}
		if a := c.get(t); a.body != "two" {
			t.Errorf("%v", a)
		}
	})
}
