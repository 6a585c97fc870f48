package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
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
	if strings.Contains(o.text.String(), "The site is at") {
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
	args = append([]string{"serve", "--addr", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "blog.db")}, args...)
	go func() { status <- run(ctx, args, out, &errs) }()
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

// The printed addresses and keys work.
func TestServe(t *testing.T) {
	printed, end := start(t)
	defer end()
	url := find(t, printed, `The site is at (\S+)/ `)
	adminKey, apiKey := find(t, printed, `The admin key is (\S+)`), find(t, printed, `An API key is (\S+)`)
	if status, body := ask(t, http.MethodGet, url+"/healthz", "", "A", "b"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz = %d: %s", status, body)
	}
	if status, body := ask(t, http.MethodPost, url+"/api/v1/posts", newPost, "X-API-Key", apiKey); status != http.StatusCreated {
		t.Errorf("POST = %d: %s", status, body)
	}
	for path, want := range map[string]string{"/": "New", "/rss.xml": "New", "/posts/new": "<p>B", "/?page=2": url} {
		if status, body := ask(t, http.MethodGet, url+path, "", "A", "b"); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s = %d, without %q", path, status, want)
		}
	}
	for path, want := range map[string]string{"/_cache": "objects", "/metrics": "site_database_queries_total"} {
		if status, _ := ask(t, http.MethodGet, url+path, "", "A", "b"); status != http.StatusUnauthorized {
			t.Errorf("%s without the key = %d", path, status)
		}
		if status, body := ask(t, http.MethodGet, url+path, "", "Authorization", "Bearer "+adminKey); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s = %d, without %q", path, status, want)
		}
	}
}

// The story comes true.
func TestStory(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(t.Context(), nil, &out, &errs); status != 0 || strings.Count(out.String(), "\n") != len(story) {
		t.Errorf("run = %d: %s\n%s", status, &out, &errs)
	}
}

// An existing database is used unchanged, and a chosen key is not printed.
func TestServeAgain(t *testing.T) {
	db := filepath.Join(t.TempDir(), "blog.db")
	for i := range 2 {
		printed, end := start(t, "--db", db, "--admin-key", "chosen", "--no-seed")
		if strings.Contains(printed, "chosen") || strings.Contains(printed, "An API key") != (i == 0) {
			t.Errorf("run %d printed\n%s", i, printed)
		}
		url := find(t, printed, `The site is at (\S+)/ `)
		const tag = `{"slug": "x", "name": "X"}`
		want := []int{http.StatusCreated, http.StatusUnprocessableEntity}[i] // the second time, it is there
		if status, body := ask(t, http.MethodPost, url+"/admin/api/tags", tag, "Authorization", "Bearer chosen"); status != want {
			t.Errorf("POST /tags = %d: %s", status, body)
		}
		end()
	}
}

func TestRunRefusesBadInput(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		status int
		want   string // on stderr
	}{
		{[]string{"--nonsense"}, 2, "--nonsense"},
		{[]string{"serve", "--addr", "nowhere"}, 1, "--addr: want a free host:port, such as 127.0.0.1:8080: "},
		{[]string{"serve", "--addr", "127.0.0.1:0", "--db", t.TempDir()}, 1, "store: "},
		{[]string{"serve", "--objects", "0"}, 2, "--objects and --responses: want 1 to 1048576"},
		{[]string{"serve", "--hot-pages", "0"}, 2, "--hot-pages: want at least 1"},
		{[]string{"serve", "--poll", "3s"}, 2, "--poll at most 1s"},
		{[]string{"serve", "--audit", "2"}, 2, "--audit: want a share from 0 to 1"},
	} {
		var out, errs bytes.Buffer
		status := run(t.Context(), tc.args, &out, &errs)
		if status != tc.status || !strings.Contains(errs.String(), tc.want) {
			t.Errorf("run(%q) = %d with %q on stderr, want %d and %q", tc.args, status, &errs, tc.status, tc.want)
		}
	}
}
