package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/internal/webtest"
	"github.com/twofold-go/twofold/examples/rsstracker/config"
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

// A signal ends a run, and the program says what becomes of it.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	file, _ := configured(t, srv.URL)
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"run", "--config", file}, &out, &errs); status != 1 || !strings.Contains(errs.String(), "rsstracker: interrupted: the next run does the rest\n") {
		t.Errorf("status %d; %s%s", status, &out, &errs)
	}
}

// The HTTP cache outlives the process, so the next one sends conditional requests.
func TestValidatorsOutliveTheProcess(t *testing.T) {
	b := newBlog(t)
	file, _ := configured(t, b.URL)
	for n := range 3 {
		if status, out, errs := do(t, "run", "--config", file); status != 0 || b.known != n {
			t.Errorf("run %d: status %d, %d conditional requests\n%s%s", n, status, b.known, out, errs)
		}
	}
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

// A damaged cache costs requests once, and no run fails.
func TestDamagedCache(t *testing.T) {
	b := newBlog(t)
	file, dir := configured(t, b.URL)
	if err := os.WriteFile(filepath.Join(dir, "rss.db.cache"), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if status, out, errs := do(t, "run", "--config", file); status != 0 || b.known != n || strings.Contains(errs, "was renamed") != (n == 0) {
			t.Errorf("run %d: status %d, %d conditional requests\n%s%s", n, status, b.known, out, errs)
		}
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

// again counts the log lines about runs that are retried.
type again struct{ n atomic.Int64 }

func (a *again) Write(b []byte) (int, error) {
	a.n.Add(int64(bytes.Count(b, []byte("it is retried"))))
	return len(b), nil
}

// TestNobodyStarves: while failed runs wait for their retry, other sites run.
func TestNobodyStarves(t *testing.T) {
	const sites = 2 * atOnce
	b := newBlog(t)
	b.set(3, true)
	file, _ := configured(t, b.URL)
	for n := range sites {
		add(t, file, fmt.Sprintf("  down%d:\n    sitemap_url: %s/map.xml\n    retry_delay: 1h\n    cron: %s\n    channel_config: {title: Down}\n", n, b.URL, notNow))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done, waiting := make(chan int, 1), new(again)
	go func() { done <- run(ctx, []string{"serve", "--config", file}, io.Discard, waiting) }()
	for ctx.Err() == nil && waiting.n.Load() < sites {
		<-time.After(10 * time.Millisecond)
	}
	if n := waiting.n.Load(); n < sites {
		t.Errorf("%d sites were run, want %d", n, sites)
	}
	cancel()
	<-done
}

// TestBounded: only a few runs are made at a time, and every site runs.
func TestBounded(t *testing.T) {
	var running, runs atomic.Int64
	var mu sync.Mutex // protects most
	var most int64
	full := make(chan struct{}) // closed when as many runs are in progress as are allowed
	site := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := running.Add(1)
		mu.Lock()
		most = max(most, n)
		mu.Unlock()
		if n == atOnce && runs.Load() == 0 {
			close(full)
		}
		<-full
		<-time.After(20 * time.Millisecond) // time for one run too many to start
		runs.Add(1)
		running.Add(-1)
		w.WriteHeader(http.StatusGone)
	})
	file, _ := configured(t, "http://127.0.0.1:1/")
	const sites = 3 * atOnce
	for n := range sites {
		server := httptest.NewServer(site) // separate hosts, because requests to one host are sequential
		t.Cleanup(server.Close)
		add(t, file, fmt.Sprintf("  site%d:\n    sitemap_url: %s/map.xml\n    retries: 0\n    cron: %s\n    channel_config: {title: Site}\n", n, server.URL, notNow))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"serve", "--config", file}, io.Discard, io.Discard) }()
	for ctx.Err() == nil && runs.Load() < sites {
		<-time.After(10 * time.Millisecond)
	}
	cancel()
	<-done
	if most != atOnce || runs.Load() != sites { // no run is left
		t.Errorf("%d at a time, %d runs; want %d, %d", most, runs.Load(), atOnce, sites)
	}
}

func TestUsage(t *testing.T) {
	file, _ := configured(t, "https://example.invalid")
	for _, tc := range []struct {
		args   string
		status int
		errs   string
	}{
		{"walk", 2, "unexpected argument walk"},
		{"run --site", 2, "--site"},
		{"run now", 2, "unexpected argument now"},
		{"stats --no-incremental", 2, "unknown flag --no-incremental"},
		{"reset --config " + file, 2, "--site"},
		{"run --config nowhere.yaml", 1, "--config: open nowhere.yaml"},
		{"run --site nobody --config " + file, 1, `--site: the configuration has no site "nobody", only ["blog"]`},
		{"reset --site blog --config " + file, 1, "no such site"},
	} {
		if status, out, errs := do(t, strings.Fields(tc.args)...); status != tc.status || !strings.Contains(errs, tc.errs) {
			t.Errorf("%s: status %d, want %d; %q %q, want %q", tc.args, status, tc.status, out, errs, tc.errs)
		}
	}
}

// TestHelp: -h lists every command, and the -h of a command its flags.
func TestHelp(t *testing.T) {
	for args, want := range map[string][]string{
		"-h":       {"demo", "run", "serve", "stats", "reset"},
		"run -h":   {"--config", "--site", "--[no-]incremental"},
		"reset -h": {"--config", "--site"},
	} {
		status, out, _ := do(t, strings.Fields(args)...)
		for _, w := range want {
			if status != 0 || !strings.Contains(out, w) {
				t.Errorf("%s: status %d, no %s in\n%s", args, status, w, out)
			}
		}
	}
}

// TestRetries: a failed run is retried twice by default. If the site recovers in between,
// no run is lost. Before the first run that reads something, there is no feed.
func TestRetries(t *testing.T) {
	b := newBlog(t)
	file, dir := configured(t, b.URL+"\n    sitemap_url: "+b.URL+"/map.xml")
	b.set(3, true)
	status, out, errs := do(t, "run", "--config", file)
	if b.hits != 3 || status != 1 || strings.Count(errs, "it is retried") != 2 {
		t.Errorf("status %d, %d requests; want 1 and three runs\n%s%s", status, b.hits, out, errs)
	}
	if all, err := os.ReadDir(filepath.Join(dir, "feeds")); len(all) > 0 {
		t.Errorf("after a first run that failed there is %v, %v", all, err)
	}
	b.mu.Lock()
	b.hits, b.upAfter = 0, 1
	b.mu.Unlock()
	if status, out, errs := do(t, "run", "--config", file); status != 0 || !strings.Contains(out, "1 published") || strings.Count(errs, "it is retried") != 1 {
		t.Errorf("with a site that comes back: status %d\n%s%s", status, out, errs)
	}
}

// opener opens a site when the log says that a run is retried.
type opener struct {
	bytes.Buffer
	open func()
}

func (o *opener) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("it is retried")) {
		o.open()
	}
	return o.Buffer.Write(p)
}

// TestRetriesAskTheSite: a site that cannot be reached is remembered for a minute, but a retry asks it,
// and so does the next run of a person.
func TestRetriesAskTheSite(t *testing.T) {
	for _, retries := range []int{0, 1} {
		b := newBlog(t)
		address := b.Listener.Addr().String()
		b.Close()
		again := &httptest.Server{Config: &http.Server{Handler: b.Config.Handler, ReadHeaderTimeout: time.Minute}}
		file, _ := configured(t, "http://"+address+fmt.Sprintf("\n    retries: %d", retries))
		log := &opener{open: func() {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			again.Listener = l
			again.Start()
		}}
		var out bytes.Buffer
		status := run(t.Context(), []string{"run", "--config", file}, &out, log)
		if retries == 0 {
			log.open()
			status = run(t.Context(), []string{"run", "--config", file}, &out, log)
		}
		if status != 0 || !strings.Contains(out.String(), "1 published") {
			t.Errorf("%d retries: status %d\n%s%s", retries, status, out.String(), log.String())
		}
		if again.Listener != nil {
			again.Close()
		}
	}
}

// TestMistakes: what no retry repairs fails at once, and the output says what to change.
func TestMistakes(t *testing.T) {
	b := newBlog(t)
	for name, tc := range map[string]struct{ old, new, want string }{
		"a private address": {"allow_private: true", "allow_private: false", "allow_private: true"},
		"no sitemap there":  {"home: " + b.URL, "sitemap_url: " + b.URL + "/gone", "404 Not Found; check the site's sitemap_url"},
		"a page":            {"home: " + b.URL, "sitemap_url: " + b.URL + "/posts/1", "not a sitemap: its root is <title>; check the site's sitemap_url"},
		"a port":            {"home: " + b.URL, "sitemap_url: https://example.invalid:0/", "check the site's sitemap_url"},
		"output":            {"/feeds\n", "/sites.yaml\n", "sites.yaml"},
		"database":          {"/rss.db\n", "/\n", "state: "},
	} {
		t.Run(name, func(t *testing.T) {
			file, _ := configured(t, b.URL)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), tc.old, tc.new, 1)
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil || changed == string(text) {
				t.Fatal(err, changed)
			}
			status, out, errs := do(t, "run", "--config", file)
			if status != 1 || strings.Contains(errs, "it is retried") || !strings.Contains(out+errs, tc.want) {
				t.Errorf("status %d, want 1 without retries and %q\n%s%s", status, tc.want, out, errs)
			}
		})
	}
}

// TestSecretsAreHidden: no output shows a token of a sitemap's URL.
func TestSecretsAreHidden(t *testing.T) {
	b := newBlog(t)
	b.index = "/map.xml?token=SECRET2"
	file, _ := configured(t, b.URL+"/?token=SECRET1\n    sitemap_url: "+b.URL+"/index.xml?token=SECRET1")
	shown := ""
	for _, down := range []bool{false, true} {
		b.set(3, down)
		_, out, errs := do(t, "run", "--config", file)
		_, stats, more := do(t, "stats", "--config", file)
		shown += out + errs + stats + more
	}
	conf, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{file: conf, now: time.Now}
	defer func() { _ = a.shut(t.Context()) }()
	if err := a.open(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/stats", "/healthz", "/blog/rss.xml"} {
		w := httptest.NewRecorder()
		a.server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		shown += w.Body.String()
	}
	if strings.Contains(shown, "SECRET") || !strings.Contains(shown, b.URL+"/index.xml") || !strings.Contains(shown, "Page /posts/2") {
		t.Errorf("it shows a token, or too little:\n%s", shown)
	}
}

// TestPrivateFiles: other users of the machine cannot read the databases.
func TestPrivateFiles(t *testing.T) {
	b := newBlog(t)
	file, dir := configured(t, b.URL)
	if status, out, errs := do(t, "run", "--config", file); status != 0 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	for _, name := range []string{"rss.db", "rss.db.cache"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want -rw-------", name, info, err)
		}
	}
}

// TestDemo runs the demonstration, which checks its figures, and checks the output.
func TestDemo(t *testing.T) {
	status, out, errs := do(t, "demo")
	for _, want := range []string{"\n3   nothing new", "cache.ErrNotModified", "httpcache.PurgeTags", "sqltier", "\n8   1 % new", "% less."} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q in\n%s%s", status, want, out, errs)
		}
	}
	t.Log("\n" + out)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status := run(ctx, nil, io.Discard, io.Discard); status != 1 {
		t.Errorf("a demonstration that was ended: status %d", status)
	}
}
