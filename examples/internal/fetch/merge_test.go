package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// slowOrigin answers conditional requests after a second.
func slowOrigin(asked *atomic.Int64) wire {
	return func(r *http.Request) (*http.Response, error) {
		asked.Add(1)
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		if r.Header.Get("If-None-Match") == `"1"` {
			return reply(304, ""), nil
		}
		return reply(200, "hello", "ETag", `"1"`), nil
	}
}

// Callers that request the same URL at the same time share the request. This includes
// callers with MaxAge 0 and callers that come a little later. Other requests are separate.
func TestMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c := newClient(t, fetch.Config{Transport: slowOrigin(&asked), PerHost: 10})
		var wg sync.WaitGroup
		ask := func(n int, r fetch.Request) {
			for range n {
				wg.Go(func() { get(t, c, r) })
			}
		}
		ask(50, fetch.Request{URL: "https://a.example/feed"})
		advance(500 * time.Millisecond)
		ask(50, fetch.Request{URL: "https://A.example:443/feed#x"})
		ask(50, fetch.Request{URL: "https://a.example/feed", MaxAge: time.Minute})
		ask(1, fetch.Request{URL: "https://a.example/feed?page=2"})
		ask(1, fetch.Request{URL: "https://a.example/feed", Accept: "text/html"})
		ask(1, fetch.Request{URL: "https://a.example/feed", Version: "2"})
		ask(1, fetch.Request{URL: "https://a.example/feed", MaxBytes: 100})
		wg.Wait()
		if s := c.Stats(); s.Requests != 5 || s.Requests != asked.Load() || s.Wire != 5*5 {
			t.Errorf("Stats = %+v; want 5 requests of 5 bytes", s)
		}
	})
}

// A caller that gives up does not affect the others. When the last one gives up, the request ends.
func TestMergedCallersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c := newClient(t, fetch.Config{Transport: slowOrigin(&asked)})
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Get(short, fetch.Request{URL: "https://a.example/"}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fetch.ErrTimeout) {
				t.Errorf("the impatient got %v, want its own deadline", err)
			}
		})
		advance(time.Millisecond)
		wg.Go(func() { get(t, c, fetch.Request{URL: "https://a.example/"}) })
		wg.Wait()

		alone, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := c.Get(alone, fetch.Request{URL: "https://b.example/"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get = %v, want the deadline", err)
		}
		synctest.Wait() // the request must have ended: only its context can end it this early
	})
}

// Two processes request a URL at the same moment. One waits for the other, and both get an
// answer, the second by a 304.
func TestProcessesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		remote := tiertest.NewMemory()
		var wg sync.WaitGroup
		for range 2 {
			c := newClient(t, fetch.Config{Tiers: newTiers(t, remote), Transport: slowOrigin(&asked)})
			for range 10 {
				wg.Go(func() {
					if resp := get(t, c, fetch.Request{URL: "https://a.example/"}); string(resp.Body) != "hello" {
						t.Errorf("Get = %q", resp.Body)
					}
				})
			}
		}
		began := time.Now()
		wg.Wait()
		if took := time.Since(began); asked.Load() != 2 || took > 3*time.Second {
			t.Errorf("asked %d times in %v, want twice in little more than 2s", asked.Load(), took)
		}
	})
}

// A process that has ended and the next one share only the remote tier. The next one sends
// the validators of the first. A run from cron needs no more.
func TestValidatorsOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := tiertest.NewMemory()
		var conditions []string
		transport := wire(func(r *http.Request) (*http.Response, error) {
			conditions = append(conditions, r.Header.Get("If-None-Match"))
			if r.Header.Get("If-None-Match") == `"1"` {
				return reply(304, ""), nil
			}
			return reply(200, "hello", "ETag", `"1"`), nil
		})
		for run := range 3 {
			for _, packed := range []bool{false, true} {
				tiers := newTiers(t, remote)
				c := newClient(t, fetch.Config{Tiers: tiers, Transport: transport})
				resp := get(t, c, fetch.Request{URL: "https://a.example/sitemap.xml", Packed: packed})
				if resp.NotModified != (run > 0) || content(t, resp) != "hello" {
					t.Errorf("run %d: %q, NotModified %v", run, content(t, resp), resp.NotModified)
				}
				c.Close()
				if err := tiers.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			advance(24 * time.Hour)
		}
		if want := []string{"", "", `"1"`, `"1"`, `"1"`, `"1"`}; !slices.Equal(conditions, want) {
			t.Errorf("conditions %q, want %q", conditions, want)
		}
	})
}

// Two processes share a remote tier. One sends the validators that the other received.
func TestSharedRemoteTier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		remote := tiertest.NewMemory()
		one := newClient(t, fetch.Config{Tiers: newTiers(t, remote), Transport: slowOrigin(&asked)})
		two := newClient(t, fetch.Config{Tiers: newTiers(t, remote), Transport: slowOrigin(&asked)})
		r := fetch.Request{URL: "https://a.example/"}
		first := get(t, one, r)
		advance(time.Minute)
		r.MaxAge = time.Hour
		if resp := get(t, two, r); !resp.FromCache || string(resp.Body) != "hello" || resp.Hash != first.Hash {
			t.Errorf("the other process got %q, FromCache %v; want what the first had", resp.Body, resp.FromCache)
		}
		r.MaxAge = 0
		if resp := get(t, two, r); !resp.NotModified || two.Stats().Wire != 0 || string(resp.Body) != "hello" {
			t.Errorf("the other process got %q, NotModified %v, %d bytes; want a 304", resp.Body, resp.NotModified, two.Stats().Wire)
		}
		if asked.Load() != 2 {
			t.Errorf("asked %d times, want 2", asked.Load())
		}
	})
}
