package fetch_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		status     int
		retryAfter string
		want       time.Duration
		ok         bool
	}{
		{status: 200, ok: true},
		{status: 203, ok: true},
		{status: 204},
		{status: 206},
		{status: 300},
		{status: 400},
		{status: 401},
		{status: 404},
		{status: 410},
		{status: 429, retryAfter: "120", want: 2 * time.Minute},
		{status: 429, retryAfter: "Mon, 02 Mar 2026 13:00:00 GMT", want: time.Hour},
		{status: 500},
		{status: 503, retryAfter: "now", want: 0},
		{status: 599},
	} {
		t.Run(fmt.Sprint(tt.status, tt.retryAfter), func(t *testing.T) {
			o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tt.retryAfter)
				w.WriteHeader(tt.status)
			})
			c := newClient(t, fetch.Config{AllowPrivate: true, Now: func() time.Time { return noon }})
			resp, err := c.Get(t.Context(), fetch.Request{URL: o.URL + "/feed?token=secret"})
			if tt.ok {
				if err != nil || resp.Status != tt.status {
					t.Errorf("Get = %d, %v; want %d", resp.Status, err, tt.status)
				}
				return
			}
			status, ok := errors.AsType[*fetch.StatusError](err)
			if !ok || *status != (fetch.StatusError{URL: o.URL + "/feed", Code: tt.status, RetryAfter: tt.want}) {
				t.Fatalf("Get = %+v, want status %d after %v", err, tt.status, tt.want)
			}
			if got, want := err.Error(), fmt.Sprintf("fetch: %s/feed: %d %s", o.URL, tt.status, http.StatusText(tt.status)); got != want {
				t.Errorf("Error = %q, want %q", got, want)
			}
		})
	}
}

// A failure is not cached: the next call sends a request, even one that would accept an old answer.
func TestFailuresAreNotCached(t *testing.T) {
	status := 503
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	c := local(t)
	for range 2 {
		if _, err := c.Get(t.Context(), fetch.Request{URL: o.URL, MaxAge: time.Hour}); err == nil {
			t.Error("Get = nil")
		}
	}
	status = 200
	get(t, c, fetch.Request{URL: o.URL, MaxAge: time.Hour})
	status = 500
	if resp := get(t, c, fetch.Request{URL: o.URL, MaxAge: time.Hour}); !resp.FromCache {
		t.Error("the answer is not in the cache")
	}
	if _, err := c.Get(t.Context(), fetch.Request{URL: o.URL}); err == nil {
		t.Error("an old answer hides a failure from a caller that wants a new one")
	}
	if n := len(o.asked()); n != 4 {
		t.Errorf("asked %d times, want 4", n)
	}
}
