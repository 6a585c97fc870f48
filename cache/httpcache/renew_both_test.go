package httpcache_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A 304 that nobody asked for, about another response, confirms nothing.
func TestUnasked304(t *testing.T) {
	const cc = "max-age=60"
	other := []string{":status", "304", "Cache-Control", cc, "Etag", `"two"`}
	o := func() http.Handler {
		return &origin{script: [][]string{
			{"Cache-Control", cc, "Etag", `"one"`}, other, other, {"Cache-Control", cc, "Etag", `"two"`},
		}}
	}
	sides(t, httpcache.Config{}, o, func(t *testing.T, get func(...string) answer) {
		if a := get(); a.body != "body 1" {
			t.Fatal(a)
		}
		sleep(t, "2m")
		if a := get(); a.body == "body 1" {
			t.Errorf("the old body has another's validator: %v", a)
		}
		if a := get(); a.body != "body 4" {
			t.Error(a)
		}
	})
}

// A page that a 304 has made private reaches only the client whose request the 304 answered.
func TestRenewedAsPrivate(t *testing.T) {
	for name, said := range map[string]string{"private": "private, max-age=60", "no-store": "no-store"} {
		t.Run(name, func(t *testing.T) {
			var g *gate
			next := func() http.Handler {
				g = newGate()
				o := &origin{script: [][]string{
					{"Cache-Control", "max-age=10", "Etag", `"a"`},
					{":status", "304", "Cache-Control", said, "Etag", `"a"`},
					{"Cache-Control", "private"},
				}}
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if o.asked() > 0 {
						g.pass()
					}
					o.ServeHTTP(w, r)
				})
			}
			sides(t, httpcache.Config{}, next, func(t *testing.T, get func(...string) answer) {
				get()
				sleep(t, "11s")
				first, others := make(chan answer, 1), make(chan answer, 3)
				go func() { first <- get() }()
				synctest.Wait()
				for range cap(others) {
					go func() { others <- get() }()
				}
				synctest.Wait()
				close(g.open)
				if a := <-first; a.body != "body 1" || strings.Contains(a.how(), "stored") {
					t.Errorf("its client got %v", a)
				}
				got := map[string]bool{"body 1": true}
				for range cap(others) {
					a := <-others
					if got[a.body] {
						t.Errorf("another client got %v", a)
					}
					got[a.body] = true
				}
			})
		})
	}
}
