package cachez_test

import (
	"context"
	"crypto/subtle"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing/fstest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
)

// A program mounts the page behind a password. A browser asks for it; curl sends it by -u
// operator:PASSWORD.
func Example() {
	ctx := context.Background()
	ix := index.New(index.Config{})
	tiers, err := cache.Open(cache.TiersConfig{OnStored: ix.Stored, OnRemoved: ix.Removed})
	if err != nil {
		log.Fatal(err)
	}
	defer tiers.Close(ctx)
	users, err := cache.New(tiers, cache.Config[int, string]{
		Namespace: "users:v1",
		Load:      func(context.Context, int) (string, error) { return "Ada", nil },
		Tags:      func(int, string) []string { return []string{"org:7"} },
	})
	if err != nil {
		log.Fatal(err)
	}

	isOperator := func(r *http.Request) bool {
		_, password, _ := r.BasicAuth()
		return subtle.ConstantTimeCompare([]byte(password), []byte("correct horse")) == 1
	}
	page, err := cachez.Handler(tiers, cachez.Config{Authorize: isOperator, AuthorizeKeys: isOperator, Title: "Users", Index: ix, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/caches", func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); !ok { // so that browsers ask for it
			w.Header().Set("WWW-Authenticate", `Basic realm="caches"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		page.ServeHTTP(w, r)
	})

	_, _ = users.Get(ctx, 42)
	send := func(method, query, form, password string) {
		r := httptest.NewRequestWithContext(ctx, method, "/debug/caches?format=json&"+query, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth("operator", password)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	send("GET", "tag=org:7", "", "correct horse")
	send("POST", "", url.Values{"do": {"purge"}, "tag": {"org:7"}}.Encode(), "correct horse")
	send("GET", "key=default:users:v1:42", "", "correct horse")
	send("POST", "", "do=purge&all=yes", "a guess")
	// Output:
	// 200 {"title":"Users","found":{"by":"tag","value":"org:7","tenant":"default","keys":["default:users:v1:42"]}}
	// 200 {"title":"Users","done":{"do":"purge","by":"tag","value":"org:7","tenant":"default","entries":1,"pending":0}}
	// 200 {"title":"Users","found":{"by":"key","value":"default:users:v1:42","entry":{"key":"default:users:v1:42","state":"absent"}}}
	// 403 {"error":"this page is for operators: see Config.Authorize of the program"}
}

// With a cache of responses the page accepts URLs and paths.
func ExampleHandler() {
	ctx := context.Background()
	ix := index.New(index.Config{})
	tiers, err := cache.Open(cache.TiersConfig{OnStored: ix.Stored, OnRemoved: ix.Removed})
	if err != nil {
		log.Fatal(err)
	}
	defer tiers.Close(ctx)
	responses, err := httpcache.New(httpcache.Config{Preset: httpcache.Pages, Tiers: tiers})
	if err != nil {
		log.Fatal(err)
	}
	page, err := cachez.Handler(tiers, cachez.Config{
		Authorize: func(r *http.Request) bool { return strings.HasPrefix(r.RemoteAddr, "192.0.2.") }, // this network only
		Index:     ix, Pages: responses, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/caches", page)
	mux.Handle("/", responses.Middleware(http.FileServerFS(fstest.MapFS{"hello.txt": {Data: []byte("hello")}})))

	send := func(method, target, form string) string {
		r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if form == "" {
			r.Body, r.ContentLength = http.NoBody, 0
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Body.String()
	}
	send("GET", "/hello.txt", "")
	fmt.Print(send("GET", "/debug/caches?format=json&under=/hello", ""))
	fmt.Print(send("POST", "/debug/caches?format=json", "do=purge&path=/hello.txt"))
	fmt.Print(send("GET", "/debug/caches?format=json&under=/hello", ""))
	// Output:
	// {"title":"Caches","found":{"by":"under","value":"/hello","keys":["default:http:v1:http//example.com/hello.txt"]}}
	// {"title":"Caches","done":{"do":"purge","by":"path","value":"/hello.txt","pending":0}}
	// {"title":"Caches","found":{"by":"under","value":"/hello"}}
}
