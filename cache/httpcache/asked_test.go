package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// inLanguage answers in the language of the request, by way of write.
func inLanguage(write func(w http.ResponseWriter, body string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60, stale-while-revalidate=60")
		w.Header().Set("Vary", "Accept-Language")
		write(w, "in "+r.Header.Get("Accept-Language"))
	}
}

// A refresh for other clients never reaches the client that started it, however the handler
// writes.
func TestRefreshedForOthers(t *testing.T) {
	for name, write := range map[string]func(http.ResponseWriter, string){
		"whole": func(w http.ResponseWriter, body string) { fmt.Fprint(w, body) },
		"flushed": func(w http.ResponseWriter, body string) {
			fmt.Fprint(w, body)
			_ = http.NewResponseController(w).Flush()
		},
		"too long": func(w http.ResponseWriter, body string) { fmt.Fprint(w, body, strings.Repeat(" ", 100)) },
	} {
		t.Run(name, func(t *testing.T) {
			long := false
			h, short := inLanguage(write), inLanguage(func(w http.ResponseWriter, body string) { fmt.Fprint(w, body) })
			origin := func() http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if long {
						h(w, r)
					} else {
						short(w, r)
					}
				})
			}
			sides(t, httpcache.Config{MaxBody: 50}, origin, func(t *testing.T, get func(...string) answer) {
				long = false
				get("Accept-Language", "en")
				long = true
				sleep(t, "90s")
				if a := get("Accept-Language", "de"); !strings.HasPrefix(a.body, "in de") {
					t.Errorf("a client that asks for another: %v", a)
				}
			})
		})
	}
}

// A handler that changes its request does not change the key of the response.
func TestHandlerChangesItsRequest(t *testing.T) {
	gzipping := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := "plain"
			if r.Header.Get("Accept-Encoding") != "" {
				body = "encoded"
				r.Header.Del("Accept-Encoding")
			}
			w.Header().Set("Vary", "Accept-Encoding")
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, body)
		})
	}
	sides(t, httpcache.Config{}, gzipping, func(t *testing.T, get func(...string) answer) {
		get("Accept-Encoding", "gzip")
		if a := get(); a.body != "plain" {
			t.Errorf("a client that accepts no coding: %v", a)
		}
	})
}

// A client cannot use Connection to make a proxy drop a header that is in the key.
func TestConnectionNamesHeaders(t *testing.T) {
	h := inLanguage(func(w http.ResponseWriter, body string) { fmt.Fprint(w, body) })
	s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		for name := range strings.SplitSeq(r.Header.Get("Connection"), ",") { // every proxy does this
			r.Header.Del(strings.TrimSpace(name))
		}
		h(w, r)
	}), httpcache.Config{})
	s.get(t, "/", "Accept-Language", "de", "Connection", "close, accept-language")
	if a := s.get(t, "/", "Accept-Language", "de"); a.body != "in de" {
		t.Errorf("another client: %v", a)
	}
	if a := s.get(t, "/", "Accept-Language", "de", "Connection", "keep-alive, TE"); !a.hit() {
		t.Errorf("a client whose Connection names nothing that matters: %v", a)
	}
}

// A handler may change its client's request while a refresh that this client started runs.
func TestRefreshAndHandlerShareNothing(t *testing.T) {
	origin := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=1, stale-while-revalidate=60")
			if w.Header().Set("Vary", "Accept-Language"); r.Header.Get("Accept-Language") == "de" {
				w.Header().Set("Cache-Control", "private")
			}
			r.Header.Del("Accept-Language")
		})
	}
	sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(...string) answer) {
		get("Accept-Language", "en")
		for range 3 {
			sleep(t, "2s")
			get("Accept-Language", "de") // refreshes the other variant, and is remembered
		}
	})
}
