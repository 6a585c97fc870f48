package httpcache_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// Any number of clients that want a missing page share one request. With Pages a HEAD waits for the page, too.
func TestCoalescing(t *testing.T) {
	for _, s := range []side{handlerSide, sharedSide, pagesSide} {
		var g *gate
		var h *counted
		origin := func() http.Handler {
			g, h = newGate(), &counted{header: http.Header{"Cache-Control": {minute}}}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g.pass()
				h.ServeHTTP(w, r)
			})
		}
		watched(t, []side{s}, httpcache.Config{}, origin, func(t *testing.T, do send, x cached) {
			led := 0
			for i, a := range together(100, func() { close(g.open) }, func(i int) answer {
				if i%2 == 1 && s.name == pagesSide.name {
					return do(http.MethodHead, "/")
				}
				return do(http.MethodGet, "/")
			}) {
				switch {
				case a.body != "rendering 1" && (a.body != "" || i%2 == 0) || a.header.Get("Content-Length") != "11":
					t.Error(a)
				case a.how() == "fwd=uri-miss;stored":
					led++
				case a.how() != "fwd=uri-miss;collapsed":
					t.Error(a.how())
				}
			}
			if st := x.Stats(); h.Load() != 1 || led != 1 || st.Misses != 1 || st.Coalesced != 99 || st.Stored != 1 {
				t.Errorf("%d requests, %d led, %+v", h.Load(), led, st)
			}
		})
	}
}

// A client that leaves does not harm clients that still wait. When no client waits, the request of the origin
// ends, nothing is stored or held, and what the origin then answers is not remembered: a client that
// disconnects keeps no page out of the cache.
func TestClientsLeave(t *testing.T) {
	type leaving struct {
		when   string // the client leaves
		how    string
		others bool   // another client waits
		origin string // what it does when its context ends
	}
	var cases []leaving
	for _, origin := range []string{"returns", "goes on", "says private"} {
		cases = append(cases, leaving{"before the header", "cancels", false, origin})
		for _, how := range []string{"cancels", "closes"} {
			cases = append(cases, leaving{"after the header", how, false, origin}, leaving{"after LoadTimeout", how, false, origin})
		}
	}
	cases = append(cases, leaving{when: "before the header", how: "cancels", others: true},
		leaving{when: "after the header", how: "cancels", others: true}, leaving{when: "after the header", how: "closes", others: true})
	for _, c := range cases {
		var g *gate
		var asked, ended atomic.Int64
		origin := func() http.Handler {
			g = newGate()
			asked.Store(0)
			ended.Store(0)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := asked.Add(1)
				w.Header().Set("Cache-Control", minute)
				if n > 1 {
					fmt.Fprint(w, "body ", n)
					return
				}
				if c.when != "before the header" {
					_ = http.NewResponseController(w).Flush()
				}
				select {
				case <-g.open:
				case <-r.Context().Done():
					if ended.Add(1); c.origin == "returns" {
						return
					} else if c.origin == "says private" {
						w.Header().Set("Cache-Control", "private")
					}
				}
				fmt.Fprint(w, "body ", n)
			})
		}
		all := []side{handlerSide, sharedSide}
		if c.when == "before the header" {
			all = append(all, pagesSide) // what it flushes is for one client
		}
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			cfg := httpcache.Config{Policy: policy.Patch{LoadTimeout: new(time.Second)}}
			watched(t, all, cfg, origin, func(t *testing.T, do send, x cached) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var wg sync.WaitGroup
				got := make(chan *http.Response, 1)
				wg.Go(func() {
					resp, err := x.RoundTrip(outgoing(t, http.MethodGet, "http://example.com/").WithContext(ctx)) //nolint:bodyclose // the client may only cancel
					if err == nil {
						got <- resp
					}
				})
				synctest.Wait()
				var other answer
				if c.others {
					wg.Go(func() { other = do(http.MethodGet, "/") })
					synctest.Wait()
				}
				if c.when == "after LoadTimeout" {
					sleep(t, "5s")
				}
				if c.how == "closes" {
					_ = (<-got).Body.Close()
				} else {
					cancel()
				}
				synctest.Wait()
				if n := ended.Load(); (n == 0) != c.others {
					t.Errorf("the request of the origin ended %d times", n)
				}
				close(g.open)
				wg.Wait()
				synctest.Wait()
				if st := x.Stats(); (st.Stored > 0) != c.others || x.Held() != 0 {
					t.Errorf("%+v, %d bytes are held", st, x.Held())
				}
				if c.others && (other.body != "body 1" || !strings.HasPrefix(other.how(), "fwd=uri-miss;collapsed")) {
					t.Errorf("the one who waited gets %v", other)
				}
				first := do(http.MethodGet, "/")
				if a := do(http.MethodGet, "/"); !a.hit() || first.hit() != c.others || asked.Load() > 2 {
					t.Errorf("then %v and %v, asked %d times", first, a, asked.Load())
				}
			})
		})
	}
}

// The client whose request is sent reads the body as it comes, and it is stored, however long that takes. A
// client that reads slowly delays no other.
func TestReadAsItComes(t *testing.T) {
	parts := []string{"one", "two", strings.Repeat("three", 100<<10)}
	for _, slow := range []bool{false, true} {
		var next chan string
		var asked atomic.Int64
		origin := func() http.Handler {
			next = make(chan string)
			asked.Store(0)
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Cache-Control", minute)
				for part := range next {
					_, _ = io.WriteString(w, part)
					_ = http.NewResponseController(w).Flush()
				}
			})
		}
		cfg := httpcache.Config{Policy: policy.Patch{LoadTimeout: new(time.Second)}}
		watched(t, nil, cfg, origin, func(t *testing.T, do send, x cached) {
			go func() { next <- parts[0] }()
			resp, err := x.RoundTrip(outgoing(t, http.MethodGet, "http://example.com/"))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for i, part := range parts {
				if i > 0 {
					next <- part
				}
				got := make([]byte, len(part))
				if slow {
					continue
				}
				if _, err := io.ReadFull(resp.Body, got); string(got) != part || err != nil {
					t.Errorf("read %.10q, %v; want %.10q", got, err, part)
				}
				sleep(t, "1s") // longer than LoadTimeout
			}
			close(next)
			if slow {
				if a := do(http.MethodGet, "/"); a.body != strings.Join(parts, "") {
					t.Errorf("another client gets %d bytes, %s", len(a.body), a.how())
				}
			}
			if rest, err := io.ReadAll(resp.Body); slow != (string(rest) == strings.Join(parts, "")) || err != nil {
				t.Errorf("at the end: %d bytes, %v", len(rest), err)
			}
			synctest.Wait()
			if a := do(http.MethodGet, "/"); a.body != strings.Join(parts, "") || !a.hit() || asked.Load() != 1 {
				t.Errorf("%s, asked %d times", a.how(), asked.Load())
			}
		})
	}
}

// Only a whole body of at most MaxBody bytes is stored. The client whose request was sent gets what arrives.
// Clients that waited send their own requests.
func TestOnlyWholeBodiesAreStored(t *testing.T) {
	const maxBody = 8
	for name, c := range map[string]struct {
		length string
		parts  []string
		stored bool
	}{
		"shorter than MaxBody":             {"", []string{"1234567"}, true},
		"as long":                          {"", []string{"1234", "5678"}, true},
		"as announced":                     {"8", []string{"1234", "5678"}, true},
		"longer":                           {"", []string{"12345678", "9"}, false},
		"longer, in one part":              {"", []string{"123456789"}, false},
		"much longer":                      {"", []string{"12345678", "9", "and more"}, false},
		"longer, and announced":            {"9", []string{"123456789"}, false},
		"shorter than it has announced":    {"8", []string{"1234567"}, false},
		"far shorter than it was to be":    {"100", []string{"1234567"}, false},
		"longer than it has announced":     {"4", []string{"1234", "5"}, false},
		"cut":                              {"", []string{"12345678"}, false},
		"nothing of what it has announced": {"4", nil, false},
	} {
		for _, flushed := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", flushed), func(t *testing.T) {
				var g *gate
				var asked atomic.Int64
				origin := func() http.Handler {
					g = newGate()
					asked.Store(0)
					return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Cache-Control", minute)
						if asked.Add(1) > 1 {
							fmt.Fprint(w, "again")
							return
						}
						if c.length != "" {
							w.Header().Set("Content-Length", c.length)
						}
						if flushed {
							_ = http.NewResponseController(w).Flush()
						}
						g.pass()
						for _, part := range c.parts {
							_, _ = io.WriteString(w, part)
						}
						if name == "cut" {
							_ = http.NewResponseController(w).Flush()
							panic(http.ErrAbortHandler)
						}
					})
				}
				all := []side{handlerSide, sharedSide}
				if !flushed && (c.length == "" || c.stored) {
					all = append(all, pagesSide) // of another length its client gets a response of its own
				}
				body, want := strings.Join(c.parts, ""), "again"
				if c.stored {
					want = body
				}
				if name == "cut" {
					all = []side{sharedSide} // in front of a handler all connections break
					body += " and then: unexpected EOF"
				}
				on(t, all, httpcache.Config{MaxBody: maxBody}, origin, func(t *testing.T, do send) {
					for i, a := range together(3, func() { close(g.open) }, func(int) answer { return do(http.MethodGet, "/") }) {
						if i == 0 && a.body != body || i > 0 && a.body != want {
							t.Errorf("client %d gets %v", i, a)
						}
					}
					n, _ := strconv.Atoi(c.length)
					if cut := name == "cut" || n > len(strings.Join(c.parts, "")) && n <= maxBody; !cut {
						sleep(t, "11s") // a refusal is remembered for a moment, but half a response says nothing of the next
					}
					do(http.MethodGet, "/")
					if a := do(http.MethodGet, "/"); !a.hit() || a.body != want {
						t.Errorf("then %v", a)
					}
				})
			})
		}
	}
}

// A response that takes longer than LoadTimeout goes to the client as it comes, also if its handler does not
// flush. A Transport's caller always gets it as it comes.
func TestSlowResponseIsPassedOn(t *testing.T) {
	origin := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", minute)
			w.WriteHeader(http.StatusOK)
			<-time.After(5 * time.Second)
			fmt.Fprint(w, "page")
		})
	}
	cfg := httpcache.Config{Policy: policy.Patch{LoadTimeout: new(time.Second)}}
	watched(t, []side{handlerSide}, cfg, origin, func(t *testing.T, do send, x cached) {
		began := time.Now()
		resp, err := x.RoundTrip(outgoing(t, http.MethodGet, "http://example.com/"))
		if d := time.Since(began); err != nil || d != time.Second {
			t.Fatalf("the header came after %v, %v", d, err)
		}
		if a := readAll(t, resp); a.body != "page" {
			t.Error(a)
		}
		synctest.Wait()
		if a := do(http.MethodGet, "/"); !a.hit() {
			t.Error(a)
		}
	})
}
