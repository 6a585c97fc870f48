package fetch_test

import (
	"fmt"
	"net/http"
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
