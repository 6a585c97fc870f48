package httpcache_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// NewTransport names every fault of a configuration.
func TestTransportConfigFaults(t *testing.T) {
	_, err := httpcache.NewTransport(httpcache.TransportConfig{
		MaxBody: -1, Keep: -1, Credentials: []string{"a b"}, Fallback: httpcache.Fallback{TTL: -1, Stale: -1, StaleIfError: -1, Heuristic: math.NaN(), MaxHeuristic: -1},
	})
	for _, name := range []string{"Tiers", "MaxBody", "Keep", "Credentials", "Fallback.TTL", "Fallback.Stale", "Fallback.StaleIfError", "Fallback.Heuristic", "Fallback.MaxHeuristic"} {
		if err == nil || !strings.Contains(err.Error(), "field "+name+" ") && !strings.Contains(err.Error(), "field "+name+":") {
			t.Errorf("%s is not in %v", name, err)
		}
	}
}

// The lifetimes of a Policy do not apply to responses.
func TestTransportPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := transport(t, numbered("Cache-Control", minute), httpcache.TransportConfig{Policy: policy.Patch{
			TTL: new(time.Second), Stale: new(time.Hour), StaleIfError: new(time.Hour), Jitter: new(0.5), ErrorTTL: new(time.Hour),
		}})
		for _, want := range []struct{ after, body string }{{"0s", "answer 1"}, {"59s", "answer 1"}, {"1s", "answer 2"}} {
			sleep(t, want.after)
			if a := c.get(t); a.body != want.body {
				t.Errorf("after %s: %v", want.after, a)
			}
		}
	})
}

// A write invalidates a response that a 304 has confirmed, like any other of its URL.
func TestTransportWriteAfterRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := transport(t, &upstream{answer: func(r *http.Request, _ int) (*http.Response, error) {
			if r.Header.Get("If-None-Match") != "" {
				return says(http.StatusNotModified, ""), nil
			}
			return says(http.StatusOK, "body", "Cache-Control", minute, "Etag", `"v"`), nil
		}}, httpcache.TransportConfig{})
		c.get(t)
		sleep(t, "1m")
		if a := c.get(t); !strings.Contains(a.how(), "304") {
			t.Errorf("%v", a)
		}
		if a := c.get(t); !a.hit() {
			t.Errorf("then %v", a)
		}
		c.do(t, outgoing(t, http.MethodPut, pageURL))
		if a := c.get(t); a.hit() || strings.Contains(a.how(), "304") {
			t.Errorf("after a write %v", a)
		}
	})
}

// Close waits for running requests, as long as its context allows.
func TestTransportClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		c := transport(t, scripted(replies(http.StatusOK, "one", "Cache-Control", "max-age=1, stale-while-revalidate=60"),
			func(*http.Request) *http.Response {
				<-hold
				return says(http.StatusOK, "two", "Cache-Control", minute)
			}), httpcache.TransportConfig{})
		c.get(t)
		sleep(t, "2s")
		go c.get(t, "Cache-Control", "no-cache")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close says %v", err)
		}
		close(hold)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
