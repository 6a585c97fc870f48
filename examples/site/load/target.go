package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/site/siteproc"
)

// class is a kind of load.
type class struct {
	name   string
	path   func(r *rand.Rand) string
	writes bool // a post is changed every second
}

func always(path string) func(*rand.Rand) string { return func(*rand.Rand) string { return path } }

var classes = []class{
	{"home page", always("/"), false},
	{"a post", always("/posts/the-cost-of-a-miss"), false},
	{"a tag", always("/tags/caching"), false},
	{"RSS", always("/rss.xml"), false},
	{"sitemap", always("/sitemap.xml"), false},
	{"API list", always("/api/v1/posts?tag=caching"), false},
	{"mix", mix, false},
	{"mix, a write per second", mix, true},
}

// mix is what visitors ask for: the front, and posts of which few are asked for
// often and most now and then.
func mix(r *rand.Rand) string {
	switch n := r.IntN(100); {
	case n < 20:
		return "/"
	case n < 30:
		return "/rss.xml"
	case n < 35:
		return "/tags/caching"
	case n < 40:
		return "/?page=" + strconv.Itoa(2+r.IntN(8))
	}
	return "/p/" + strconv.FormatUint(1+rand.NewZipf(r, 1.1, 4, 199).Uint64(), 10)
}

// target is a site under load.
type target struct {
	*siteproc.Site
	client  http.Client
	clients int
}

func newTarget(s *siteproc.Site, clients int) *target {
	return &target{Site: s, clients: clients, client: http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: clients + 2, DisableCompression: true},
	}}
}

// sample is what came of a load.
type sample struct {
	times   []time.Duration
	took    time.Duration
	queries int64
}

func (s *sample) add(o sample) {
	s.times = append(s.times, o.times...)
	s.took += o.took
	s.queries += o.queries
}

func (s *sample) rate() float64 { return float64(len(s.times)) / s.took.Seconds() }

func (s *sample) percentile(p int) time.Duration {
	slices.Sort(s.times)
	return s.times[min(len(s.times)*p/100, len(s.times)-1)].Round(time.Microsecond)
}

// ask has all clients ask for a class for some time.
func (t *target) ask(ctx context.Context, c class, d time.Duration) (s sample, err error) {
	before, err := t.queries(ctx)
	if err != nil {
		return s, err
	}
	begun := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex // protects s and err
	for i := range t.clients {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // the same for both sites
			var times []time.Duration
			var failed error
			for time.Since(begun) < d && failed == nil {
				start := time.Now()
				if failed = t.get(ctx, c.path(r)); failed == nil {
					times = append(times, time.Since(start))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			s.times, err = append(s.times, times...), errors.Join(err, failed)
		})
	}
	var writer sync.WaitGroup
	if c.writes {
		writer.Go(func() { t.write(ctx) })
	}
	wg.Wait()
	s.took = time.Since(begun)
	cancel()
	writer.Wait()
	after, failed := t.queries(context.WithoutCancel(ctx))
	s.queries = after - before
	return s, errors.Join(err, failed)
}

// get asks for a path and reads the answer. Redirects are followed, as one request
// of the visitor's.
func (t *target) get(ctx context.Context, path string) error {
	return t.do(ctx, http.MethodGet, path, "", io.Discard)
}

func (t *target) do(ctx context.Context, method, path, body string, to io.Writer) error {
	r, err := http.NewRequestWithContext(ctx, method, t.URL+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body == "" {
		r.Body = http.NoBody
	}
	switch {
	case strings.HasPrefix(path, "/api/"):
		r.Header.Set("X-API-Key", t.APIKey)
	case strings.HasPrefix(path, "/admin/"), path == "/metrics":
		r.Header.Set("Authorization", "Bearer "+siteproc.AdminKey)
	}
	resp, err := t.client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, resp.Body)
	if resp.StatusCode >= http.StatusBadRequest {
		err = errors.Join(err, fmt.Errorf("%s %s = %d", method, path, resp.StatusCode))
	}
	return errors.Join(err, resp.Body.Close())
}

// write changes a post every second, until ctx ends.
func (t *target) write(ctx context.Context) {
	for n := 0; ; n++ {
		body := fmt.Sprintf(`{"slug": "the-cost-of-a-miss", "title": "Title %d", "summary": "S", "body": "B", "lang": "en", "status": "published", "tags": ["caching"]}`, n)
		if err := t.do(ctx, http.MethodPut, "/admin/api/posts/1", body, io.Discard); err != nil && ctx.Err() == nil {
			fmt.Println("a write failed:", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// queries returns how many queries the site's database has answered.
func (t *target) queries(ctx context.Context) (int64, error) {
	const name = "site_database_queries_total "
	var page strings.Builder
	if err := t.do(ctx, http.MethodGet, "/metrics", "", &page); err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(strings.NewReader(page.String())); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), name); ok {
			f, err := strconv.ParseFloat(n, 64)
			return int64(f), err
		}
	}
	return 0, errors.New("there is no " + name + "among the metrics")
}
