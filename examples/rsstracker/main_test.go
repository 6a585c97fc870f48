package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/internal/webtest"
)

// TestMain runs the tests, or the program: see [process].
func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(asProgram); ok {
		os.Exit(run(context.Background(), strings.Split(args, "\n"), os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// blog is a local site with a number of posts.
type blog struct {
	*httptest.Server
	mu      sync.Mutex
	posts   int
	down    bool
	hits    int    // requests for the sitemap
	upAfter int    // number of requests after which a site that is down is up again; 0: never
	index   string // the sitemap that /index.xml lists
	known   int    // conditional requests for sitemaps
}

func newBlog(t *testing.T) *blog {
	t.Helper()
	b := &blog{posts: 3}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if r.URL.Path == "/map.xml" {
			b.hits++
		}
		switch {
		case b.down && (b.upAfter == 0 || b.hits <= b.upAfter):
			http.Error(w, "down", http.StatusServiceUnavailable)
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "Sitemap: /map.xml\nUser-agent: *\nDisallow: /secret\n")
		case r.URL.Path == "/gone":
			http.NotFound(w, r)
		case r.URL.Path == "/index.xml":
			fmt.Fprintf(w, "<sitemapindex><sitemap><loc>%s</loc></sitemap></sitemapindex>", b.index)
		case r.URL.Path == "/map.xml":
			tag := fmt.Sprintf(`"%d"`, b.posts)
			w.Header().Set("ETag", tag)
			if r.Header.Get("If-None-Match") == tag {
				b.known++
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, "<urlset>")
			for i := range b.posts {
				fmt.Fprintf(w, "<url><loc>/posts/%d</loc><lastmod>2026-01-%02d</lastmod></url>", i, i+1)
			}
			fmt.Fprint(w, "<url><loc>/secret</loc></url></urlset>")
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>Page %s</title>", r.URL.Path)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *blog) set(posts int, down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posts, b.down = posts, down
}

// notNow is a schedule for a site whose first run is immediate, and whose second one does not come during
// a test. The usual schedule has every other full hour.
const notNow = "0 0 29 2 *"

// configured writes a configuration for a site, and returns its path and the folder.
func configured(t *testing.T, url string) (file, dir string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "sites.yaml")
	text := fmt.Sprintf(`
database: %[1]s/rss.db
output: %[1]s/feeds
listen: 127.0.0.1:0
public_url: https://feeds.example.org
host_delay: 1ms
allow_private: true
sites:
  blog:
    home: %[2]s
    exclude: [/never]
    retry_delay: 1ms
    cron: %[3]s
    channel_config: {title: The blog, description: What is new}
    incremental_config: {baseline_items: 1}
`, dir, url, notNow)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, dir
}

// do runs the program, and returns its status and its output.
func do(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, &o, &e)
	return status, o.String(), e.String()
}

func TestRuns(t *testing.T) {
	b := newBlog(t)
	file, dir := configured(t, b.URL)
	step := func(wantStatus int, want string, args ...string) string {
		t.Helper()
		status, out, errs := do(t, append(args, "--config", file)...)
		if status != wantStatus || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%q: status %d, want %d; printed, want %s\n%s%s", args, status, wantStatus, want, out, errs)
		}
		return out
	}
	step(0, "^blog: ok; 1 new, 0 changed, 0 pending, 3 skipped, 0 failed; 2 fetches, 0 not modified, 3 saved; 1 published", "run")
	b.set(5, false)
	step(0, "^blog: ok; 2 new, .* 2 published", "run", "--site", "blog")
	step(0, "^blog: ok; 0 new, .* 1 fetches, .* 0 published", "run")
	rss, err := os.ReadFile(filepath.Join(dir, "feeds", "blog", "rss.xml"))
	if err != nil || bytes.Count(rss, []byte("<item>")) != 3 || !bytes.Contains(rss, []byte("Page /posts/4")) {
		t.Errorf("%v\n%s", err, rss)
	}

	var st []struct {
		Site  string
		Items int
		Runs  []struct{ Outcome string }
	}
	if err := json.Unmarshal([]byte(step(0, "", "stats")), &st); err != nil || len(st) != 1 || st[0].Items != 3 || len(st[0].Runs) != 3 {
		t.Errorf("stats are %+v, %v", st, err)
	}
	if odd := regexp.MustCompile(`"[A-Z]\w*":`).FindString(step(0, "", "stats")); odd != "" {
		t.Errorf("stats have the field %s among others in lower case", odd)
	}

	b.set(7, false)
	step(0, "^blog: state deleted", "reset", "--site", "blog")
	step(0, "^blog: ok; 1 new", "run")
	before, err := os.ReadFile(filepath.Join(dir, "rss.db"))
	if err != nil {
		t.Fatal(err)
	}
	step(0, "^blog: ok; 8 new, .* 7 published", "run", "--no-incremental") // robots.txt forbids the eighth
	if after, err := os.ReadFile(filepath.Join(dir, "rss.db")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("full mode has changed the database, %v", err)
	}
	b.set(7, true)
	step(1, "^blog: failed", "run")
	step(1, "", "run", "--no-incremental")
}

// add appends to a configuration.
func add(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestServe(t *testing.T) {
	b := newBlog(t)
	file, _ := configured(t, b.URL)
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	done := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		done <- run(ctx, []string{"serve", "--config", file}, out, &errs)
		out.Close()
	}()
	line := make([]byte, 200)
	n, err := in.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://\S+/`).FindString(string(line[:n]))
	shows := func(text string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; {
			status, body := webtest.Get(t, url+"blog/rss.xml", "")
			if status == http.StatusOK && strings.Contains(body, text) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d %s\n%s", status, body, &errs)
			}
		}
	}
	shows("Page /posts/2") // the first run is immediate
	b.set(5, false)
	for skipped := true; skipped; { // until the first run has ended
		status, out, errs := do(t, "run", "--config", file) // as another process
		skipped = strings.Contains(out, "another run is in progress")
		if status != 0 || !skipped && !strings.Contains(out, "2 published") {
			t.Fatalf("status %d\n%s%s", status, out, errs)
		}
	}
	shows("Page /posts/4") // long before the cached feed expires
	cancel()
	if status := <-done; status != 0 {
		t.Errorf("status %d\n%s", status, &errs)
	}
}

// Without a command, the program tells its story: ten items, two more, and a 304 for the reader.
func TestStory(t *testing.T) {
	status, out, errs := do(t)
	for _, want := range []string{"10 published", " 2 published,  3 requests", "1 304s; the reader gets 304"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, %s; no %q in\n%s", status, errs, want, out)
		}
	}
}
