package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

const (
	kills      = 60               // a busy machine skips up to two thirds of them
	enoughTime = 45 * time.Second // if they take longer than this
	atOnce     = 4
)

// transitions records each change of a scheduled post, in the transaction that makes it.
const transitions = `CREATE TABLE transitions (slug TEXT, was TEXT, is_now TEXT);
	CREATE TRIGGER noted AFTER UPDATE ON posts WHEN NEW.slug LIKE 'due-%' BEGIN
		INSERT INTO transitions VALUES (NEW.slug, OLD.status, NEW.status); END`

// Processes are killed 60 times, sometimes several at once, while writers write to them. No
// acknowledged write is lost. The surviving process shows it within the bound, and no page
// is stale in the end. Each scheduled post is published once.
func TestKills(t *testing.T) {
	db := filepath.Join(t.TempDir(), "site.db")
	s := sitetest.Fill(t, db)
	raw := opened(t, db)
	svc := service.New(s, service.Config{})
	for i := range kills {
		in := service.PostInput{
			Slug: fmt.Sprint("due-", i), Title: "T", Body: "B", Status: "scheduled",
			PublishedAt: time.Now().Add(time.Second + time.Duration(i)*200*time.Millisecond),
		}
		if _, err := svc.SavePost(t.Context(), 0, in); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"--db", db, "--schedule", "20ms", "--poll", "20ms"}
	w := &killed{t: t, survivor: running(t, flags)}
	for begun := time.Now(); w.kills < kills && (w.kills < kills/3 || time.Since(begun) < enoughTime); {
		w.round(flags)
	}
	if len(w.acked) < w.kills {
		t.Errorf("%d writes were acknowledged: too few to show anything", len(w.acked))
	}
	plain := build(t, s, siteConfig{uncached: true})
	for _, fault := range slices.Concat(w.lost(s), w.published(raw), w.stale(plain)) {
		t.Error(fault)
	}
	t.Logf("%d kills, %d acknowledged writes", w.kills, len(w.acked))
}

// The checks of TestKills notice a lost write, a post that was published twice, and a stale page.
func TestKillsNotice(t *testing.T) {
	db := filepath.Join(t.TempDir(), "site.db")
	s := sitetest.Fill(t, db)
	raw := opened(t, db)
	w := &killed{t: t, survivor: running(t, []string{"--db", db, "--schedule", "1h"})}
	if !w.write(w.survivor) {
		t.Fatal("the write was not acknowledged")
	}
	plain := build(t, s, siteConfig{uncached: true})
	if faults := slices.Concat(w.lost(s), w.stale(plain)); len(faults) > 0 {
		t.Errorf("before any fault: %v", faults)
	}
	for _, plant := range []string{
		`UPDATE posts SET slug = 'due-1' WHERE slug = 'w-1'`, // the post is lost, and the survivor's log does not show it
		`UPDATE posts SET status = 'scheduled' WHERE slug = 'due-1'`,
		`UPDATE posts SET status = 'published' WHERE slug = 'due-1'`,
		`UPDATE posts SET status = 'scheduled' WHERE slug = 'due-1'`,
		`UPDATE posts SET status = 'published' WHERE slug = 'due-1'`,
	} {
		if _, err := raw.ExecContext(t.Context(), plant); err != nil {
			t.Fatal(err)
		}
	}
	for name, faults := range map[string][]string{"lost": w.lost(s), "published": w.published(raw), "stale": w.stale(plain)} {
		if len(faults) == 0 {
			t.Errorf("the check %q finds nothing", name)
		}
	}
}

// opened opens the database beside the site, and installs transitions.
func opened(t *testing.T, db string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", "file:"+db+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	if _, err := raw.ExecContext(t.Context(), transitions); err != nil {
		t.Fatal(err)
	}
	return raw
}

// running is a process that the test kills at its end.
func running(t *testing.T, flags []string) *process {
	t.Helper()
	p, err := launch(t.Context(), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// killed is the knowledge of the writers.
type killed struct {
	t        *testing.T
	survivor *process
	kills    int

	mu    sync.Mutex // protects the rest
	tried int
	acked []string
}

// round starts processes, writes to them, kills them at once, and checks the survivor.
func (w *killed) round(flags []string) {
	w.t.Helper()
	from := len(w.acked)
	var all sync.WaitGroup
	var killedAt time.Time // the last one
	for range atOnce {
		all.Go(func() {
			victim, err := launch(w.t.Context(), flags...)
			if err != nil {
				w.t.Error(err)
				return
			}
			atLeast, enough, ended := 1+rand.IntN(3), make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				for n := 1; w.write(victim); n++ {
					if n == atLeast {
						close(enough)
					}
				}
			}()
			select {
			case <-enough:
			case <-ended:
			}
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) //nolint:forbidigo // the kill must come at any moment of a write
			victim.kill()
			w.mu.Lock()
			killedAt = time.Now()
			w.mu.Unlock()
			<-ended
		})
	}
	all.Wait()
	w.kills += atOnce
	for _, slug := range w.acked[from:] {
		for asked := time.Now(); w.get("/posts/"+slug).StatusCode != http.StatusOK; asked = time.Now() {
			if late := asked.Sub(killedAt); late > sqllog.DefaultBound {
				w.t.Fatalf("the survivor does not show %s to a request %v after the kill", slug, late)
			}
			time.Sleep(time.Millisecond) //nolint:forbidigo // wait for another process
		}
	}
}

// lost returns the acknowledged writes that are missing.
func (w *killed) lost(s *store.Store) (faults []string) {
	for _, slug := range w.acked {
		if _, err := s.ID(w.t.Context(), store.Posts, slug); err != nil {
			faults = append(faults, fmt.Sprintf("%s was acknowledged, and is lost: %v", slug, err))
		}
	}
	return faults
}

// write creates a post, and reports whether the process acknowledged it.
func (w *killed) write(p *process) bool {
	w.mu.Lock()
	w.tried++
	slug := fmt.Sprint("w-", w.tried)
	w.mu.Unlock()
	body := strings.Replace(newPost, `"new"`, `"`+slug+`"`, 1)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, p.URL+"/admin/api/posts", strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return false
	}
	r.Header.Set("Authorization", "Bearer "+processKey)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false // the process is dead
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated && res.StatusCode != http.StatusAccepted {
		w.t.Errorf("POST = %d", res.StatusCode)
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked = append(w.acked, slug)
	return true
}

// survived is an answer of the survivor.
type survived struct {
	StatusCode int
	Body       string
}

func (w *killed) get(path string) survived {
	w.t.Helper()
	status, body := ask(w.t, http.MethodGet, w.survivor.URL+path, "", "X-API-Key", sitetest.APIKey)
	return survived{status, body}
}

// published waits for all scheduled posts, and returns those that were not published exactly once.
func (w *killed) published(raw *sql.DB) (faults []string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	count := func(query string) (n int) {
		if err := raw.QueryRowContext(ctx, query).Scan(&n); err != nil {
			w.t.Fatal(err)
		}
		return n
	}
	for count(`SELECT count(*) FROM posts WHERE slug LIKE 'due-%' AND status = 'scheduled'`) > 0 {
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // wait for other processes to publish
	}
	posts := count(`SELECT count(*) FROM posts WHERE slug LIKE 'due-%'`)
	if n := count(`SELECT count(*) FROM transitions WHERE was = 'scheduled' AND is_now = 'published'`); n != posts {
		faults = append(faults, fmt.Sprintf("scheduled posts were published %d times, want %d", n, posts))
	}
	if n := count(`SELECT count(*) FROM transitions`); n != posts {
		faults = append(faults, fmt.Sprintf("scheduled posts have changed %d times, want %d", n, posts))
	}
	return faults
}

// stale compares all pages with those of a site without caches, within the bound.
func (w *killed) stale(plain *site) (faults []string) {
	w.t.Helper()
	begun := time.Now()
	for _, path := range append([]string{"/posts/w-1", "/posts/due-1"}, public...) {
		for !strings.HasPrefix(path, "/p/") { // a redirect
			rec := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, path, http.NoBody)
			r.Header.Set("X-API-Key", sitetest.APIKey)
			plain.ServeHTTP(rec, r)
			asked := time.Now()
			got := w.get(path)
			if got.Body == rec.Body.String() {
				break
			}
			if asked.Sub(begun) > sqllog.DefaultBound {
				faults = append(faults, fmt.Sprintf("%s is stale: %d, %d bytes; want %d, %d", path, got.StatusCode, len(got.Body), rec.Code, rec.Body.Len()))
				break
			}
		}
	}
	return faults
}
