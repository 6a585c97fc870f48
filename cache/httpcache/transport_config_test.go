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
