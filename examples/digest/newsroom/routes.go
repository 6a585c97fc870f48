package newsroom

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// apiKey is what the interfaces of outlets want to be asked with. It is no secret: it is
// there so that sources have a header to send.
const apiKey = "Bearer newsroom"

// robots is the robots.txt of all outlets, which live on one host.
const robots = "User-agent: *\nDisallow: /private/\n"

// producer makes an answer of what an outlet has published until now.
type producer func(o *outlet, now time.Time, r *http.Request) (answer, error)

// routes says who answers where.
func (n *Newsroom) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, robots) })
	of := func(f func(*outlet, time.Time) (answer, error)) producer {
		return func(o *outlet, now time.Time, _ *http.Request) (answer, error) { return f(o, now) }
	}
	for _, o := range outlets() {
		switch o.form {
		case rssForm, atomForm, jsonForm:
			mux.Handle("GET "+pathOf(&o), n.serve(o, of(n.feed)))
			if o.moved {
				mux.Handle("GET "+oldPathOf(&o), http.RedirectHandler(pathOf(&o), http.StatusMovedPermanently))
			}
		case siteForm:
			mux.Handle("GET "+pathOf(&o)+"feed.xml", n.serve(o, of(n.feed)))
			mux.Handle("GET "+pathOf(&o)+"{$}", n.serve(o, of(n.page)))
		case pageForm:
			mux.Handle("GET "+pathOf(&o)+"{$}", n.serve(o, of(n.page)))
		case apiForm:
			mux.Handle("GET "+pathOf(&o), keyed(n.serve(o, of(n.api))))
		case redditForm:
			mux.Handle("GET "+pathOf(&o), n.serve(o, of(n.reddit)))
		case trendingForm:
			mux.Handle("GET "+pathOf(&o), n.serve(o, of(n.trending)))
		case hackerNewsForm:
			mux.Handle("GET "+pathOf(&o), n.serve(o, n.searched))
		case nobodyForm:
		}
	}
	return mux
}

// pathOf returns where an outlet is asked. Those of services are the services' own, below a
// folder for each, and fetchers know them.
func pathOf(o *outlet) string {
	switch o.form {
	case siteForm, pageForm:
		return "/sites/" + o.slug + "/"
	case apiForm:
		return "/api/" + o.slug
	case hackerNewsForm:
		return hackerNewsPath + map[string]string{"top": "/api/v1/search", "show": "/api/v1/search_by_date"}[o.query]
	case redditForm:
		return redditPath + "/r/" + o.slug + "/" + o.query + ".json"
	case trendingForm:
		if o.query == "all" {
			return gitHubPath + "/trending"
		}
		return gitHubPath + "/trending/" + o.query
	default:
		return "/feeds/" + o.slug
	}
}

// oldPathOf returns where an outlet that has moved was asked before.
func oldPathOf(o *outlet) string { return "/blog/" + o.slug + ".rss" }

// searched answers a search of Hacker News.
func (n *Newsroom) searched(o *outlet, now time.Time, r *http.Request) (answer, error) {
	q := r.URL.Query()
	least, _ := strings.CutPrefix(q.Get("numericFilters"), "points>=")
	return n.hackerNews(o, now, number(least, 0), number(q.Get("hitsPerPage"), 20))
}

// number reads a number from a query; what is none is the other one.
func number(s string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return n
	}
	return otherwise
}

// keyed answers those alone who have the key.
func keyed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != apiKey {
			http.Error(w, "a key is wanted", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
