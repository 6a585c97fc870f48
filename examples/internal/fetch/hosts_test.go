package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// starts records when requests start, and delays each answer.
type starts struct {
	mu      sync.Mutex
	began   time.Time
	at      map[string][]time.Duration // by host
	running map[string]int
	most    map[string]int
	take    time.Duration
}

func newStarts(take time.Duration) *starts {
	return &starts{began: time.Now(), at: map[string][]time.Duration{}, running: map[string]int{}, most: map[string]int{}, take: take}
}

// RoundTrip answers after a delay.
func (s *starts) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.at[r.URL.Host] = append(s.at[r.URL.Host], time.Since(s.began))
	s.running[r.URL.Host]++
	s.most[r.URL.Host] = max(s.most[r.URL.Host], s.running[r.URL.Host])
	s.mu.Unlock()
	select {
	case <-time.After(s.take):
	case <-r.Context().Done():
	}
	s.mu.Lock()
	s.running[r.URL.Host]--
	s.mu.Unlock()
	return reply(200, r.URL.Path), r.Context().Err()
}

// Each host has its own queue: three requests at a time, a second between two starts.
func TestHostsAreAskedPolitely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStarts(5 * time.Second)
		c := newClient(t, fetch.Config{Transport: s, PerHost: 3, HostDelay: time.Second})
		var wg sync.WaitGroup
		for i := range 6 {
			for _, host := range []string{"a.example", "b.example", "a.example:8080"} {
				wg.Go(func() { get(t, c, fetch.Request{URL: fmt.Sprintf("http://%s/%d", host, i)}) })
			}
		}
		wg.Wait()
		for _, host := range []string{"a.example", "b.example", "a.example:8080"} {
			want := []time.Duration{0, 1 * time.Second, 2 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second}
			if d := cmp.Diff(want, s.at[host]); d != "" || s.most[host] != 3 {
				t.Errorf("%s: %d at a time, started (-want +got):\n%s", host, s.most[host], d)
			}
		}
	})
}

// Requests start in their order of arrival. One that gives up waiting delays no other.
func TestQueueIsFairAndCancellable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hs := fetch.NewHosts(1)
		var order []int
		var when []time.Duration
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			wg.Go(func() {
				leave, err := hs.Enter(ctx, "a", 10*time.Second)
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("Enter(%d) = %v", i, err)
					}
					return
				}
				defer leave()
				order, when = append(order, i), append(when, time.Since(began))
			})
			if i%2 == 1 {
				time.AfterFunc(time.Duration(i)*time.Second, cancel) // some in the door, some in the queue
			}
			synctest.Wait()
		}
		wg.Wait()
		if !slices.Equal(order, []int{0, 2, 4, 6, 8}) {
			t.Errorf("order = %v, want 0 2 4 6 8", order)
		}
		want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second}
		if d := cmp.Diff(want, when); d != "" {
			t.Errorf("starts differ (-want +got):\n%s", d)
		}
	})
}

// A host is forgotten after a minute without requests, but not before its pause is over.
func TestHostsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hs := fetch.NewHosts(1)
		enter := func(name string, delay time.Duration) {
			t.Helper()
			leave, err := hs.Enter(t.Context(), name, delay)
			if err != nil {
				t.Fatal(err)
			}
			leave()
		}
		enter("slow", time.Hour)
		for i := range 1000 {
			enter(fmt.Sprint(i), time.Second)
		}
		advance(2 * time.Minute)
		enter("new", 0)
		if n := hs.Len(); n != 2 {
			t.Errorf("%d hosts are remembered, want the slow and the new one", n)
		}
		began := time.Now()
		enter("slow", time.Hour)
		if got := time.Since(began); got != 58*time.Minute {
			t.Errorf("waited %v for the slow one, want the rest of its hour", got)
		}
		leave, err := hs.Enter(t.Context(), "busy", 0)
		if err != nil {
			t.Fatal(err)
		}
		advance(3 * time.Hour)
		enter("new", 0)
		if n := hs.Len(); n != 2 {
			t.Errorf("%d hosts are remembered, want the busy and the new one", n)
		}
		leave()
	})
}

// The wait in the host's queue does not count against the timeout of the request, but it is
// limited.
func TestBusyHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStarts(2 * time.Minute)
		c := newClient(t, fetch.Config{Transport: s, PerHost: 1, Timeout: 3 * time.Minute})
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				_, err := c.Get(t.Context(), fetch.Request{URL: fmt.Sprintf("http://a.example/%d", i)})
				if (err != nil) != (time.Since(s.began) == 5*time.Minute) || (err != nil && !errors.Is(err, fetch.ErrBusy)) {
					t.Errorf("Get = %v after %v", err, time.Since(s.began))
				}
			})
		}
		wg.Wait()
		if got := c.Stats(); got.Requests != 3 {
			t.Errorf("Stats = %+v, want 3 requests", got)
		}
	})
}
