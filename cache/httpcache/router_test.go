package httpcache_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// The mechanisms of routers. The module of the benchmarks tests the routers themselves.

type (
	middleware = func(http.Handler) http.Handler
	routeKey   struct{}
	route      struct{ id string }
)

// idOf returns the variable of the route /posts/{id}.
func idOf(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/posts/") }

// routers make a router with one page, /posts/{id}, and the middleware inside it.
var routers = map[string]func(m middleware, page func(w http.ResponseWriter, r *http.Request, id string)) http.Handler{
	"net/http, one route": func(m middleware, page func(w http.ResponseWriter, r *http.Request, id string)) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("GET /posts/{id}", m(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { page(w, r, r.PathValue("id")) })))
		return mux
	},
	// chi's Use: the router takes the route from the context and panics if there is none. Routes are pooled.
	"chi, Use": func(m middleware, page func(w http.ResponseWriter, r *http.Request, id string)) http.Handler {
		pool := sync.Pool{New: func() any { return new(route) }}
		inner := m(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rt := r.Context().Value(routeKey{}).(*route)
			rt.id = idOf(r)
			page(w, r, rt.id)
		}))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rt := pool.Get().(*route)
			inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routeKey{}, rt)))
			rt.id = "of another request"
			pool.Put(rt)
		})
	},
	// chi's With: the page takes the variable from the context, or gets an empty one.
	"chi, With": func(m middleware, page func(w http.ResponseWriter, r *http.Request, id string)) http.Handler {
		inner := m(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rt, _ := r.Context().Value(routeKey{}).(*route)
			page(w, r, cmp.Or(rt, new(route)).id)
		}))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routeKey{}, &route{idOf(r)})))
		})
	},
	// gorilla's Use: the middleware is called for each request.
	"gorilla, Use": func(m middleware, page func(w http.ResponseWriter, r *http.Request, id string)) http.Handler {
		inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			vars, _ := r.Context().Value(routeKey{}).(map[string]string)
			page(w, r, vars["id"])
		})
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m(inner).ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routeKey{}, map[string]string{"id": idOf(r)})))
		})
	},
	// echo's WrapMiddleware: a handler for one request, with a context that is pooled.
	"echo, WrapMiddleware": func(m middleware, page func(w http.ResponseWriter, r *http.Request, id string)) http.Handler {
		pool := sync.Pool{New: func() any { return new(route) }}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := pool.Get().(*route)
			c.id = idOf(r)
			m(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { page(w, r, c.id) })).ServeHTTP(w, r)
			c.id = "of another request"
			pool.Put(c)
		})
	},
}

// logLines is a log that keeps its lines.
type logLines struct {
	slog.Handler
	mu  sync.Mutex
	all []string
}

func logged() (*logLines, *slog.Logger) {
	l := &logLines{Handler: slog.DiscardHandler}
	return l, slog.New(l)
}

func (l *logLines) Enabled(context.Context, slog.Level) bool { return true }

func (l *logLines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	l.all = append(l.all, text)
	return nil
}

// Inside any router, each URL has its own page, or the middleware leaves the request alone and says once what to
// do. Around the router, every page is stored.
func TestRouters(t *testing.T) {
	for name, router := range routers {
		for _, preset := range []httpcache.Preset{httpcache.Shared, httpcache.Pages} {
			t.Run(fmt.Sprint(name, "/", preset), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log, logger := logged()
					page := func(w http.ResponseWriter, r *http.Request, id string) {
						w.Header().Set("Cache-Control", "max-age=60, stale-while-revalidate=60")
						_, _ = fmt.Fprint(w, "post ", id)
					}
					s := proxied(t, http.NotFoundHandler(), httpcache.Config{Preset: preset, Logger: logger})
					inside, outside := router(s.c.Middleware, page), s.c.Middleware(router(func(h http.Handler) http.Handler { return h }, page))
					stores := strings.HasPrefix(name, "net/http")
					for _, age := range []string{"0s", "1s", "70s"} {
						sleep(t, age)
						for _, id := range []string{"1", "2", "1"} {
							a := do(inside, request(t, http.MethodGet, "/posts/"+id))
							if a.body != "post "+id {
								t.Errorf("after %s: %v, want post %s", age, a, id)
							}
							if !stores && (a.hit() || strings.Contains(a.how(), "stored")) {
								t.Error(a)
							}
						}
						synctest.Wait()
					}
					switch all := strings.Join(log.all, "\n"); {
					case stores && all != "":
						t.Error(all)
					case !stores && (len(log.all) != 1 || !strings.Contains(all, "around the router")):
						t.Errorf("the log says:\n%s", all)
					}
					s.invalidateAll(t)
					for i := range 2 {
						for _, id := range []string{"1", "2"} {
							if a := do(outside, request(t, http.MethodGet, "/posts/"+id)); a.body != "post "+id || a.hit() != (i == 1) {
								t.Errorf("around the router: %v", a)
							}
						}
					}
				})
			})
		}
	}
}

func (s server) invalidateAll(t *testing.T) {
	t.Helper()
	if err := s.c.PurgeAll(t.Context()); err != nil {
		t.Error(err)
	}
}

// A handler that is put behind the cache at its first request, and serves others too, bypasses the cache only then.
func TestHandlerMadeAtFirstRequest(t *testing.T) {
	var c *httpcache.Cache
	h := new(counted)
	once := sync.OnceValue(func() http.Handler { return c.Middleware(h) })
	c = serve(t, h.ServeHTTP, httpcache.Config{}).c
	lazy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { once().ServeHTTP(w, r) })
	for i, how := range []string{"fwd=bypass;detail=router", "fwd=uri-miss;stored", "hit"} {
		if a := do(lazy, request(t, http.MethodGet, "/")); a.how() != how {
			t.Errorf("answer %d: %s, want %s", i+1, a.how(), how)
		}
	}
	if got := c.Stats().Bypass["router"]; got != 1 {
		t.Errorf("%d requests bypassed the cache, want 1", got)
	}
}

// A response for whose rendering the handler asked for a value of an outer handler is its client's own, whenever
// the handler asked, and whatever it answered. The clients get what they would get without the cache.
func TestContextOfOuterHandlers(t *testing.T) {
	user := func(r *http.Request) string {
		u, _ := r.Context().Value(userKey{}).(string)
		return cmp.Or(u, "nobody")
	}
	for name, h := range map[string]func(w http.ResponseWriter, r *http.Request){
		"first": func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "page of ", user(r)) },
		"after header": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_, _ = fmt.Fprint(w, "page of ", user(r))
		},
		"flushed": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, "page of ")
			_ = http.NewResponseController(w).Flush()
			_, _ = fmt.Fprint(w, user(r))
		},
		"asked, flushed": func(w http.ResponseWriter, r *http.Request) {
			u := user(r)
			_ = http.NewResponseController(w).Flush()
			_, _ = fmt.Fprint(w, "page of ", u)
		},
		"header, asked, flushed": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			u := user(r)
			_ = http.NewResponseController(w).Flush()
			_, _ = fmt.Fprint(w, "page of ", u)
		},
		"a failure": func(w http.ResponseWriter, r *http.Request) {
			if u := user(r); u != "nobody" {
				_, _ = fmt.Fprint(w, "page of ", u)
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(w, "page of nobody")
		},
		"a panic": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, "page of ", r.Context().Value(userKey{}).(string))
		},
		"another status": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusMethodNotAllowed)
			_, _ = fmt.Fprint(w, "page of ", user(r))
		},
	} {
		for _, preset := range []httpcache.Preset{httpcache.Shared, httpcache.Pages} {
			t.Run(fmt.Sprint(name, "/", preset), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Cache-Control", "max-age=60")
						h(w, r)
					}), httpcache.Config{Preset: preset})
					as := func(u string) answer {
						r := request(t, http.MethodGet, "/")
						return do(s, r.WithContext(context.WithValue(r.Context(), userKey{}, u)))
					}
					var wg sync.WaitGroup
					for i := range 6 {
						wg.Go(func() {
							if u := fmt.Sprint("user ", i%2); true {
								if a := as(u); a.body != "page of "+u || a.hit() {
									t.Errorf("for %s: %v", u, a)
								}
							}
						})
					}
					wg.Wait()
					if n := s.c.Stats(); n.Stored != 0 || n.Refused["context"]+n.Refused["flush"] == 0 {
						t.Errorf("%+v", n)
					}
				})
			})
		}
	}
}

// Values that no outer handler has set, those of the server, those of telemetry, and those that Config.ContextKeys
// names, keep no response from being stored.
func TestContextKeys(t *testing.T) {
	for _, preset := range []httpcache.Preset{httpcache.Shared, httpcache.Pages} {
		synctest.Test(t, func(t *testing.T) {
			cfg := httpcache.Config{Preset: preset, ContextKeys: func(key any) bool { return key == routeKey{} }}
			s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				cache.Depend(ctx, "page")
				w.Header().Set("Cache-Control", "max-age=60")
				_, _ = fmt.Fprintln(w, ctx.Value(routeKey{}), ctx.Value(userKey{}), ctx.Value(http.ServerContextKey) != nil,
					trace.SpanContextFromContext(ctx).IsValid(), context.Cause(ctx))
			}), cfg)
			r := request(t, http.MethodGet, "/")
			ctx, cancel := context.WithCancelCause(context.WithValue(r.Context(), routeKey{}, "logger"))
			defer cancel(nil)
			ctx = trace.ContextWithSpanContext(context.WithValue(ctx, http.ServerContextKey, &http.Server{}), trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{1}}))
			do(s, r.WithContext(ctx))
			if a := do(s, request(t, http.MethodGet, "/")); !a.hit() || a.body != "logger <nil> true true <nil>\n" {
				t.Error(a)
			}
		})
	}
}
