package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/examples/internal/call"
)

// output collects the program's output. A test waits for its last line.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	up   chan struct{}
	done sync.Once
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	if strings.Contains(o.text.String(), "Ctrl+C") {
		o.done.Do(func() { close(o.up) })
	}
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs the program and returns its output when it is ready. The test stops it at its end.
func start(t *testing.T, args ...string) (printed string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, status := &output{up: make(chan struct{})}, make(chan int, 1)
	var errs output
	go func() { status <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), out, &errs) }()
	select {
	case <-out.up:
	case s := <-status:
		cancel()
		t.Fatalf("run = %d, %s", s, &errs)
	}
	return out.String(), func() {
		t.Helper()
		cancel()
		if s := <-status; s != 0 {
			t.Errorf("run = %d, %s", s, &errs)
		}
	}
}

// find returns the match of the pattern in text.
func find(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no %q in\n%s", pattern, text)
	}
	return m[1]
}

// ask makes a request over the network, and returns the status and the body.
func ask(t *testing.T, method, url, body, header, value string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(header, value)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// The printed hints work as printed.
func TestRun(t *testing.T) {
	printed, end := start(t)
	defer end()
	url := find(t, printed, `The site is at +(\S+)/\n`)
	adminKey, apiKey := find(t, printed, `The admin key is (\S+)`), find(t, printed, `An API key is +(\S+)`)
	lines := regexp.MustCompile(`(?m)^  curl .*`).FindAllString(printed, -1)
	if len(lines) != 3 {
		t.Errorf("%d lines of curl, want 3:\n%s", len(lines), printed)
	}
	if status, body := ask(t, http.MethodGet, url+"/healthz", "", "A", "b"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz = %d: %s", status, body)
	}
	if status, body := ask(t, http.MethodGet, url+"/", "", "A", "b"); status != http.StatusOK || !strings.Contains(body, url) {
		t.Errorf("/ = %d: %s", status, body)
	}
	body := find(t, lines[1], `-d '([^']*)'`)
	if status, body := ask(t, http.MethodPost, find(t, lines[1], `(http\S*)$`), body, "Authorization", "Bearer "+adminKey); status != http.StatusCreated {
		t.Errorf("%s = %d: %s", lines[1], status, body)
	}
	if status, body := ask(t, http.MethodGet, find(t, lines[2], `(http\S*) `), "", "A", "b"); status != http.StatusOK || !strings.Contains(body, "Hello") {
		t.Errorf("%s = %d: %s", lines[2], status, body)
	}
	if status, body := ask(t, http.MethodGet, url+"/posts/hello", "", "A", "b"); status != http.StatusOK || !strings.Contains(body, "<em>works</em>") {
		t.Errorf("/posts/hello = %d: %s", status, body)
	}
	for path, want := range map[string]string{"/_cache": "objects", "/metrics": "site_database_queries_total"} {
		if status, _ := ask(t, http.MethodGet, url+path, "", "A", "b"); status != http.StatusUnauthorized {
			t.Errorf("%s without the key = %d", path, status)
		}
		if status, body := ask(t, http.MethodGet, url+path, "", "Authorization", "Bearer "+adminKey); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s = %d, without %q", path, status, want)
		}
	}
	if status, body := ask(t, http.MethodGet, url+"/api/v1/posts", "", "X-API-Key", apiKey); status != http.StatusOK || !strings.Contains(body, "Hello") {
		t.Errorf("the API = %d: %s", status, body)
	}
}

// The demonstration succeeds.
func TestDemo(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"-addr", "127.0.0.1:0", "-demo"}, &out, &errs); status != 0 {
		t.Errorf("run = %d: %s\n%s", status, &out, &errs)
	}
	if got := strings.Count(out.String(), "\n"); got != len(story)+2 {
		t.Errorf("%d lines for %d steps:\n%s", got, len(story), &out)
	}
}

// The demonstration notices a step with another result.
func TestDemoFails(t *testing.T) {
	good := reply{status: http.StatusOK, header: http.Header{"Cache-Status": {"twofold;hit"}}, body: "body"}
	for want, s := range map[string]step{
		"status": {status: 404}, "Cache-Status": {status: 200, cached: miss}, "lacks": {status: 200, text: "x"}, "still contains": {status: 200, not: "body"},
	} {
		if err := s.check(good); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	l, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := call.URL(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tellDemo(t.Context(), hints{URL: url}, io.Discard); err == nil {
		t.Error("a site that is not there tells its story")
	}
}

// An existing database is used unchanged.
func TestRunAgain(t *testing.T) {
	db := filepath.Join(t.TempDir(), "blog.db")
	printed, end := start(t, "-db", db, "-admin-key", "chosen")
	if strings.Contains(printed, "chosen") || !strings.Contains(printed, "The admin key is that of -admin-key\n") || !strings.Contains(printed, "Bearer ADMIN-KEY'") {
		t.Errorf("the chosen key was printed, or no hint at it:\n%s", printed)
	}
	url := find(t, printed, `The site is at +(\S+)/\n`)
	const tag = `{"slug": "x", "name": "X"}`
	if status, body := ask(t, http.MethodPost, url+"/admin/api/tags", tag, "Authorization", "Bearer chosen"); status != http.StatusCreated {
		t.Errorf("POST /tags = %d: %s", status, body)
	}
	end()
	printed, end = start(t, "-db", db, "-admin-key", "chosen")
	defer end()
	if strings.Contains(printed, "An API key") || strings.Contains(printed, "X-API-Key") {
		t.Errorf("a key was printed that the program cannot know:\n%s", printed)
	}
	url = find(t, printed, `The site is at +(\S+)/\n`)
	if status, body := ask(t, http.MethodGet, url+"/admin/api/tags", "", "Authorization", "Bearer chosen"); status != http.StatusOK || !strings.Contains(body, `"slug":"x"`) {
		t.Errorf("GET /tags = %d: %s", status, body)
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, end := start(t)
	end()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("the temporary folder has %v, %v", left, err)
	}
}

func TestRunRefusesBadInput(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   []string
		status int
		want   string // on stderr
	}{
		{"unknown flag", []string{"-nonsense"}, 2, "-nonsense"},
		{"no flag", []string{"serve"}, 2, `"serve" is not a flag`},
		{"bad address", []string{"-addr", "nowhere"}, 1, "-addr: want a free host:port, such as 127.0.0.1:8080: "},
		{"bad database", []string{"-addr", "127.0.0.1:0", "-db", t.TempDir()}, 1, "store: "},
		{"size", []string{"-objects", "lots"}, 2, "want a size of at least 16KiB"},
		{"small size", []string{"-max-body", "1KiB"}, 2, "flag -max-body: want a size of at least 16KiB"},
		{"number", []string{"-hot-pages", "0"}, 2, "want a number from 1"},
		{"time", []string{"-schedule", "-1s"}, 2, "want a duration from 10ms to 1h0m0s"},
		{"poll beyond the bound", []string{"-poll", "3s"}, 2, "want a duration from 10ms to 1s"},
		{"demo of an empty blog", []string{"-demo", "-seed=false"}, 2, "-seed=false"},
		{"demo of nothing", []string{"-demo", "-cache=false"}, 2, "-demo"},
		{"help", []string{"-help"}, 0, "-admin-key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := run(t.Context(), tc.args, &out, &errs)
			if status != tc.status || !strings.Contains(errs.String(), tc.want) || out.Len() > 0 {
				t.Errorf("run(%q) = %d with %q on stderr, want %d and %q", tc.args, status, &errs, tc.status, tc.want)
			}
		})
	}
}

// Without -addr, the site gets an address even if the default one is in use.
func TestListenSomewhere(t *testing.T) {
	var urls []string
	for range 2 {
		l, err := listen(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		urls = append(urls, call.URL(l))
	}
	if urls[0] == urls[1] {
		t.Errorf("both are at %s", urls[0])
	}
	l, err := listen(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := call.URL(l); !strings.HasPrefix(got, "http://localhost:") {
		t.Errorf("listening everywhere is at %s", got)
	}
	if _, err := listen(t.Context(), strings.TrimPrefix(fmt.Sprint(urls[0]), "http://")); err == nil {
		t.Error("an address that is taken was given twice")
	}
}

// The key of an empty site writes the first post through /api/v1. A small cache stays within its
// bounds.
func TestEmptyStart(t *testing.T) {
	printed, end := start(t, "-seed=false", "-responses", "16KiB", "-max-body", "16KiB", "-admin-key", "k")
	defer end()
	url, key := find(t, printed, `The site is at +(\S+)/\n`), find(t, printed, `An API key is +(\S+)`)
	if status, body := ask(t, http.MethodGet, url+"/", "", "A", "b"); status != http.StatusOK || strings.Contains(body, "/posts/") {
		t.Errorf("/ = %d: %s", status, body)
	}
	post := strings.Replace(newPost, `"caching"`, "", 1)
	if status, body := ask(t, http.MethodPost, url+"/api/v1/posts", post, "X-API-Key", key); status != http.StatusCreated {
		t.Fatalf("POST = %d: %s", status, body)
	}
	paths := []string{"/", "/posts/new", "/rss.xml", "/sitemap.xml"}
	for i := range 15 { // more pages than fit
		slug := fmt.Sprint("new-", i)
		if status, body := ask(t, http.MethodPost, url+"/api/v1/posts", strings.Replace(post, `"new"`, `"`+slug+`"`, 1), "X-API-Key", key); status != http.StatusCreated {
			t.Fatalf("POST = %d: %s", status, body)
		}
		paths = append(paths, "/posts/"+slug)
	}
	for _, path := range append(paths, paths...) {
		if status, _ := ask(t, http.MethodGet, url+path, "", "A", "b"); status != http.StatusOK {
			t.Errorf("%s = %d", path, status)
		}
	}
	if _, body := ask(t, http.MethodGet, url+"/?page=2", "", "A", "b"); !strings.Contains(body, `/posts/new"`) {
		t.Errorf("the home page does not show the post: %s", body)
	}
	_, body := ask(t, http.MethodGet, url+"/metrics", "", "Authorization", "Bearer k")
	if n := find(t, body, `cache_local_bytes{tiers="responses"} (\S+)`); len(n) > 5 || n == "0" {
		t.Errorf("responses take %s bytes, want 16384 at most", n)
	}
	if !regexp.MustCompile(`site_response_evicted_total{format="\w+"} [1-9]`).MatchString(body) {
		t.Errorf("no eviction is counted:\n%s", regexp.MustCompile(`(?m)^site_response.*`).FindAllString(body, -1))
	}
}
