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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/internal/webtest"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output collects the program's output. A test may wait for a text in it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	up   chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	if o.up != nil && strings.Contains(o.text.String(), o.want) {
		close(o.up)
		o.up = nil
	}
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func execute(t *testing.T, status int, args ...string) (out, errs string) {
	t.Helper()
	var o, e output
	if got := run(t.Context(), nil, args, nil, &o, &e); got != status {
		t.Errorf("digest %s: status %d, want %d; %s", strings.Join(args, " "), got, status, e.String())
	}
	return o.String(), e.String()
}

func origin(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		_, _ = io.WriteString(w, `<rss version="2.0"><channel><title>F</title><item><guid>1</guid><title>The ferry runs</title><link>https://f.example/1</link></item></channel></rss>`)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// imported creates a database with a local source and a user, and returns the user's key.
func imported(t *testing.T, more ...string) (args []string, key string) {
	t.Helper()
	return importedFrom(t, origin(t), more...)
}

func importedFrom(t *testing.T, origin *httptest.Server, more ...string) (args []string, key string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "seed.sql")
	text := fmt.Sprintf(`INSERT OR IGNORE INTO sources (id, name, type, config, created_at, updated_at) VALUES (1, 'F', 'rss', '{"url": %q}', unixepoch() * 1000, unixepoch() * 1000);
		INSERT OR IGNORE INTO source_packs (id, slug, name, is_default, created_at) VALUES (1, 'start', 'Start', 1, 0);
		INSERT OR IGNORE INTO source_pack_sources VALUES (1, 1);
		INSERT OR IGNORE INTO users (id, slug, name, email, created_at) VALUES (1, 'ann', 'Ann', 'ann@example.com', 0)`, origin.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"--db", filepath.Join(dir, "d.db"), "--zone", "UTC", "--allow-private"}, more...)
	out, _ := execute(t, 0, append([]string{"import", file}, args...)...)
	found := regexp.MustCompile(`key of ann: (\S+)\n`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("import printed %q", out)
	}
	if again, _ := execute(t, 0, append([]string{"import", file}, args...)...); again != "" {
		t.Errorf("import again printed %q", again)
	}
	return args, found[1]
}

// A failed fetch shows in the output and in the exit status.
func TestCollectSourceFails(t *testing.T) {
	args, _ := imported(t)
	args = slices.DeleteFunc(args, func(a string) bool { return a == "--allow-private" }) // the source is local
	if out, log := execute(t, 1, append([]string{"collect", "--source", "1"}, args...)...); !strings.Contains(out, `"error"`) || !strings.Contains(log, "source 1: ") {
		t.Errorf("collect --source printed %s and %s", out, log)
	}
}

// An interrupted collection shows in the exit status, and the next run fetches the rest.
func TestCollectIsCut(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
			<-r.Context().Done()
		case <-release:
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	args, _ := importedFrom(t, slow)
	for _, how := range [][]string{{"collect"}, {"collect", "--loop"}, {"collect", "--source", "1"}, {"serve", "--addr", "127.0.0.1:0"}} {
		ctx, cancel := context.WithCancel(t.Context())
		kill := make(chan struct{})
		go func() {
			<-asked
			cancel()
			close(kill)
		}()
		var o, e output
		if got := run(ctx, kill, append(how, args...), nil, &o, &e); got != 1 || !strings.Contains(e.String(), "interrupted") {
			t.Errorf("%v: status %d, %s; want 1", how, got, &e)
		}
	}
}

// Commands in sequence, on one database.
func TestCommands(t *testing.T) {
	args, _ := imported(t)
	call := func(status int, first ...string) string {
		t.Helper()
		out, _ := execute(t, status, append(first, args...)...)
		return out
	}
	period := func() time.Time { return time.Now().UTC().Truncate(4 * time.Hour) }
	began := period()
	var counts struct{ Succeeded, New int }
	if err := json.Unmarshal([]byte(call(0, "collect")), &counts); err != nil || counts.Succeeded != 1 || counts.New != 1 {
		t.Errorf("collect: %+v, %v", counts, err)
	}
	if out := call(0, "collect", "--source", "1"); !strings.Contains(out, `"not_modified": true`) {
		t.Errorf("collect --source printed %s", out)
	}
	call(1, "collect", "--source", "7")
	// A new item is in an open period, if that has not just ended.
	if out := call(0, "generate", "--type", "4h"); !strings.Contains(out, `"users": 1`) || !strings.Contains(out, `"empty": 1`) && period().Equal(began) {
		t.Errorf("generate printed %s", out)
	}
	call(0, "generate", "--user", "1")
	call(1, "generate", "--user", "7")
	if out := call(0, "verify"); !strings.Contains(out, "all stored hashes match the subscriptions") {
		t.Errorf("verify printed %s", out)
	}
	if out := call(0, "verify", "--fix"); !strings.Contains(out, "0 users corrected") {
		t.Errorf("verify --fix printed %s", out)
	}
}

// A user reads over HTTP what the program has collected; then the operator's calls.
func TestServe(t *testing.T) {
	for name, more := range map[string][]string{
		"file":  nil,
		"redis": {"--redis", "redis://" + redistest.Start(t).Addr()},
	} {
		t.Run(name, func(t *testing.T) {
			args, key := imported(t, more...)
			url, operator, end := serve(t, args)
			defer end()
			for path, c := range map[string]struct {
				key    string
				status int
				says   string
			}{
				"/healthz":                {"", 200, `"ok"`},
				"/metrics":                {"", 200, "cache_load_total"},
				"/api/sources":            {"", 200, `"name":"F"`},
				"/api/subscription-hash":  {key, 200, "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"}, // SHA-256 of "1"
				"/api/digest-cache/stats": {operator, 200, "hit_rate"},
				"/api/collector/status":   {key, 403, ""},
				"/feed/ann.rss":           {"", 200, "<rss"},
				"/nothing":                {"", 404, ""},
			} {
				status, body := webtest.Get(t, url+path, c.key)
				if status != c.status || !strings.Contains(body, c.says) {
					t.Errorf("%s: %d %s, want %d and %q", path, status, body, c.status, c.says)
				}
			}
		})
	}
}

// serve runs the program and returns the operator's key. The test stops it at its end.
func serve(t *testing.T, args []string) (url, key string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, errs, status := &output{want: "operator's key", up: make(chan struct{})}, &output{}, make(chan int, 1)
	up := out.up
	go func() {
		status <- run(ctx, nil, append([]string{"serve", "--addr", "127.0.0.1:0", "--generate", "daily,4h"}, args...), nil, out, errs)
	}()
	select {
	case <-up:
	case s := <-status:
		cancel()
		t.Fatalf("serve: status %d, %s", s, errs)
	}
	found := regexp.MustCompile(`serving at (http://\S+)/\n.*: (\S+)\n`).FindStringSubmatch(out.String())
	if found == nil {
		t.Errorf("serve printed %q", out)
		found = make([]string, 3)
	}
	return found[1], found[2], func() {
		t.Helper()
		cancel()
		if s := <-status; s != 0 {
			t.Errorf("serve: status %d, %s", s, errs)
		}
	}
}

// By default, serve generates the digests of four hours and of days.
func TestServeGeneratesByDefault(t *testing.T) {
	var c cli
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"serve"}); err != nil || !slices.Equal(c.Serve.Generate, []digest.Kind{digest.FourHours, digest.Daily}) {
		t.Errorf("%v, %v; want 4h and daily", c.Serve.Generate, err)
	}
}

// Without a command, the program tells its story, in which 300 users cost six calls.
func TestStoryIsTheDefault(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out, _ := execute(t, 0)
	if strings.Count(out, "300 digests: map[") != 3 || strings.Count(out, "call:6 ") != 2 || strings.Count(out, "database:") != 1 {
		t.Errorf("the story is\n%s", out)
	}
}

// The file that the README names can be imported.
func TestSeed(t *testing.T) {
	if out, _ := execute(t, 0, "import", "seed.sql", "--db", filepath.Join(t.TempDir(), "d.db")); !strings.Contains(out, "key of ann: ") {
		t.Errorf("import printed %q", out)
	}
}

// Errors name the fault, and do not quote secrets.
func TestBadCalls(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	db := filepath.Join(dir, "d.db")
	for name, c := range map[string]struct {
		status int
		says   string
		args   []string
	}{
		"command":       {2, "nothing", []string{"nothing"}},
		"flag":          {2, "--sauce", []string{"collect", "--sauce"}},
		"type":          {2, "--type", []string{"generate", "--type", "hourly"}},
		"loop and one":  {2, "--source", []string{"collect", "--loop", "--source", "1"}},
		"no file":       {2, "none.sql", []string{"import", filepath.Join(dir, "none.sql")}},
		"serve's types": {2, "--generate must be one of \"4h\",\"daily\"", []string{"serve", "--db", db, "--generate", "hourly"}},
		"no base URL":   {2, "--base-url: 13 bytes, want a scheme, http or https, and a host", []string{"serve", "--db", db, "--base-url", "feeds.example"}},
		"a path in it":  {2, "--base-url: 23 bytes", []string{"serve", "--db", db, "--base-url", "https://feeds.example/x"}},
		"no env file":   {1, "none.env", []string{"collect", "--db", db, "--env-file", filepath.Join(dir, "none.env")}},
		"env file":      {1, "not NAME=value", []string{"collect", "--db", db, "--env-file", write("bad.env", "A=1\nsecret sauce\n")}},
		"setting":       {1, "COLLECTOR_TICK", []string{"collect", "--db", db, "--env-file", write("tick.env", "COLLECTOR_TICK=soon\n")}},
		"import":        {1, "bad.sql: ", []string{"import", "--db", db, write("bad.sql", `INSERT INTO nothing`)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := execute(t, c.status, c.args...)
			if !strings.Contains(errs, c.says) || strings.Contains(errs, "sauce\"") {
				t.Errorf("the error is %q, want one that says %q", errs, c.says)
			}
		})
	}
	if out, _ := execute(t, 0, "--help"); !strings.Contains(out, "verify") {
		t.Errorf("help is %q", out)
	}
}
