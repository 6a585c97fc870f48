package httpcache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// source is the data that pages are made from.
type source struct {
	version    atomic.Int64
	dependLate bool
	before     func() // the read
	after      func() // the read, before the response is written
	renderings atomic.Int64
}

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.renderings.Add(1)
	if !s.dependLate {
		cache.Depend(r.Context(), "source")
	}
	s.before()
	v := s.version.Load()
	s.after()
	if s.dependLate {
		cache.Depend(r.Context(), "source")
	}
	fmt.Fprint(w, "version ", v)
}

// A page whose handler read the source before a write is never served after the write's
// invalidation has returned. That holds for every point of the rendering at which the write
// falls, and for every point at which the handler calls Depend. (W-E5)
func TestFillRaces(t *testing.T) {
	type step int
	const (
		beforeRead step = iota
		afterRead
		asWritten // between the handler's return and the end of the load: both run concurrently
	)
	for _, write := range []step{beforeRead, afterRead, asWritten} {
		for _, invalidate := range []step{beforeRead, afterRead, asWritten} {
			if invalidate < write {
				continue // here the writer would be wrong
			}
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprint(write, invalidate, late), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h := &source{dependLate: late}
						s := serve(t, h.ServeHTTP, httpcache.Config{})
						var once [3]sync.Once
						var writer sync.WaitGroup
						at := func(here step) {
							once[here].Do(func() {
								if write == here {
									h.version.Store(1)
								}
								if invalidate == here {
									s.invalidate(t, "source")
								}
							})
						}
						h.before = func() { at(beforeRead) }
						h.after = func() {
							at(afterRead)
							if write == asWritten || invalidate == asWritten {
								writer.Go(func() { at(asWritten) })
							}
						}
						s.get(t, "/")
						writer.Wait()
						if a := s.get(t, "/"); a.body != "version 1" {
							t.Errorf("after the write: %v", a)
						}
						if a := s.get(t, "/"); a.body != "version 1" || !a.hit() {
							t.Errorf("after the write, again: %v", a)
						}
					})
				})
			}
		}
	}
}

// Readers and a writer run at full speed. After an invalidation has returned, no reader sees the
// old page.
func TestReadYourWrites(t *testing.T) {
	nothing := func() {}
	h := &source{before: nothing, after: nothing}
	s := serve(t, h.ServeHTTP, httpcache.Config{})
	var wg sync.WaitGroup
	var written atomic.Int64
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				want := written.Load()
				var got int64
				if _, err := fmt.Sscanf(s.get(t, "/").body, "version %d", &got); err != nil || got < want {
					t.Errorf("version %d was served, %v, after %d had been written", got, err, want)
					return
				}
			}
		})
	}
	for v := range int64(300) {
		h.version.Store(v)
		s.invalidate(t, "source")
		written.Store(v)
		if a := s.get(t, "/"); a.body != fmt.Sprint("version ", v) {
			t.Errorf("the writer of version %d got %v", v, a)
		}
	}
	close(done)
	wg.Wait()
}

// An invalidation ends the pages that depend on it and no others.
func TestPrecision(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cache.Depend(r.Context(), r.URL.Path)
	}, httpcache.Config{})
	s.get(t, "/a")
	s.get(t, "/b")
	s.invalidate(t, "/a")
	if a, b := s.get(t, "/a"), s.get(t, "/b"); a.hit() || !b.hit() {
		t.Errorf("%v, %v", a, b)
	}
}

// A page that reads other cached values inherits their dependencies, also when the read is a hit.
func TestPagesInherit(t *testing.T) {
	tiers := openTiers(t, cache.TiersConfig{})
	n := 0
	inner, err := cache.New(tiers, cache.Config[string, int]{Namespace: "inner:v1", Load: func(ctx context.Context, _ string) (int, error) {
		cache.Depend(ctx, "post:7")
		n++
		return n, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		v, err := inner.Get(r.Context(), "k")
		fmt.Fprint(w, v, err)
	}, httpcache.Config{Tiers: tiers})
	if _, err := inner.Get(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"/", "/list"} {
		s.get(t, page)
	}
	s.invalidate(t, "post:7")
	for _, page := range []string{"/", "/list"} {
		if a := s.get(t, page); a.body != "2 <nil>" || a.hit() {
			t.Errorf("%s: %v", page, a)
		}
	}
}

// A hit refreshes a page early if the policy in force says so, also if it was set at run time.
func TestRefreshAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, tiers := new(counted), openTiers(t, cache.TiersConfig{})
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			sleep(t, "10s")
			h.ServeHTTP(w, r)
		}, httpcache.Config{Tiers: tiers, Policy: policy.Patch{TTL: new(100 * time.Second)}})
		visit := func() {
			for range 20 {
				if a := s.get(t, "/"); a.status != http.StatusOK {
					t.Error(a)
				}
			}
			sleep(t, "11s")
		}
		visit()
		visit()
		if n := h.Load(); n != 1 {
			t.Errorf("%d renderings before", n)
		}
		if err := tiers.SetPolicies(policy.Table{{Namespace: httpcache.DefaultNamespace, Patch: policy.Patch{RefreshAhead: new(1000.0)}}}); err != nil {
			t.Fatal(err)
		}
		visit()
		if n := h.Load(); n < 2 {
			t.Errorf("%d renderings after the page was due", n)
		}
	})
}

// An early refresh that is refused answers no client: all get the stored page.
func TestRefusedEarlyRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{script: [][]string{{"Cache-Control", "max-age=100"}, {":status", "429"}}}
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if o.asked() == 0 {
				sleep(t, "1s") // the chance grows with the time that a load takes
			}
			o.ServeHTTP(w, r)
		}), httpcache.Config{Policy: policy.Patch{RefreshAhead: new(1e9)}})
		s.get(t, "/")
		sleep(t, "50s")
		for i := range 200 {
			if a := s.get(t, "/"); a.status != http.StatusOK || a.body != "body 1" {
				t.Fatalf("visit %d: %v", i, a)
			}
			sleep(t, "10ms")
		}
		if o.asked() < 2 {
			t.Error("nothing was refreshed")
		}
	})
}

// If one tag is invalid, PurgeTags refuses all and purges nothing.
func TestPurgeTags(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { cache.Depend(r.Context(), "a", "b") }, httpcache.Config{})
	s.get(t, "/")
	err := s.c.PurgeTags(t.Context(), "a", "", strings.Repeat("secret", 50))
	if !errors.Is(err, invalidate.ErrScope) || !strings.Contains(err.Error(), "tag 2 of 3") || !strings.Contains(err.Error(), "tag 3 of 3") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if err := s.c.PurgeTags(t.Context()); err != nil || !s.get(t, "/").hit() {
		t.Errorf("purged by nothing: %v", err)
	}
	if err := s.c.PurgeTags(t.Context(), "x", "b"); err != nil || s.get(t, "/").hit() {
		t.Errorf("not purged: %v", err)
	}
	off := serve(t, set("X", "y"), httpcache.Config{Off: true})
	if err := off.c.PurgeTags(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := off.c.PurgeTags(t.Context(), ""); err == nil {
		t.Error("an empty tag is taken")
	}
}
