package warm_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/warm"
)

// nothing is a site without settings, so there is no warm-up at the start.
var nothing = content.Reader{Settings: func(context.Context) (content.Settings, error) { return content.Settings{}, content.ErrNotFound }}

// pages records the loaded paths.
type pages struct {
	mu     sync.Mutex // protects the rest
	loaded []string
	fail   string // the path whose load fails
}

func (p *pages) load(_ context.Context, path string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded = append(p.loaded, path)
	if path == p.fail {
		return errors.New("broken")
	}
	return nil
}

// taken returns the paths loaded since the last call.
func (p *pages) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	loaded := p.loaded
	p.loaded = nil
	return loaded
}

// run returns a Warmer that runs until the bubble's test ends.
func run(t *testing.T, p *pages, r content.Reader) *warm.Warmer {
	t.Helper()
	w := warm.New(warm.Config{Load: p.load, Delay: delay, Max: 10, Log: slog.New(slog.DiscardHandler)})
	go w.Run(t.Context(), r)
	synctest.Wait()
	return w
}

// delay is the time from a write to the warm-up.
const delay = 250 * time.Millisecond

// A burst of writes causes one warm-up of each page, a moment after the first write.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pages{}
		w := run(t, p, nothing)
		for range 3 {
			w.After(service.Change{Entities: []content.Entity{"page:s", "sitemap"}, Path: "/pages/s"})
			time.Sleep(delay / 10) //nolint:forbidigo // in a bubble
		}
		if got := p.taken(); len(got) > 0 {
			t.Errorf("loaded at once: %v", got)
		}
		time.Sleep(delay) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if diff := cmp.Diff([]string{"/pages/s", "/sitemap.xml"}, p.taken()); diff != "" {
			t.Errorf("loaded (-want +got)\n%s", diff)
		}
	})
}

// A page that is written while it is loaded is loaded again.
func TestWriteDuringWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pages{}
		var w *warm.Warmer
		again := sync.OnceFunc(func() { w.Add("/a") })
		w = warm.New(warm.Config{Delay: delay, Max: 10, Log: slog.New(slog.DiscardHandler), Load: func(ctx context.Context, path string) error {
			again()
			return p.load(ctx, path)
		}})
		go w.Run(t.Context(), nothing)
		w.Add("/a", "/a")
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if got := p.taken(); len(got) != 2 {
			t.Errorf("loaded %v, want /a twice", got)
		}
	})
}

// The queue is bounded, and a failure does not stop later pages.
func TestBoundsAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pages{fail: "/b"}
		w := run(t, p, nothing)
		w.Add("/a", "/b", "/c")
		for i := range 20 {
			w.Add("/" + strings.Repeat("x", i+1))
		}
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		want := warm.Stats{Warmed: 9, Failed: 1, Dropped: 13}
		if diff := cmp.Diff(want, w.Stats()); diff != "" {
			t.Errorf("stats (-want +got)\n%s", diff)
		}
	})
}

// The first pages of the site are warmed up at the start.
func TestStart(t *testing.T) {
	r := sitetest.Seeded(t).Reader()
	paths, err := warm.Front(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/", "/?page=2", "/zh/rss.xml", "/sitemap.xml", "/robots.txt", "/pages/about"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not warmed up: %v", want, paths)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &pages{}
	warm.New(warm.Config{Max: 100, Log: slog.New(slog.DiscardHandler), Load: func(ctx context.Context, path string) error {
		if path == paths[len(paths)-1] {
			cancel()
		}
		return p.load(ctx, path)
	}}).Run(ctx, r)
	if diff := cmp.Diff(paths, p.taken()); diff != "" {
		t.Errorf("loaded (-want +got)\n%s", diff)
	}
}

// The entities of a change determine the pages to warm up.
func TestAfter(t *testing.T) {
	english, chinese := []string{"/", "/rss.xml", "/atom.xml"}, []string{"/zh/", "/zh/rss.xml", "/zh/atom.xml"}
	for name, tt := range map[string]struct {
		change service.Change
		want   []string
	}{
		"new post": {
			service.Change{Entities: []content.Entity{"feed:en", "post:7", "posts:en", "sitemap", "slug:s"}, Path: "/posts/s"},
			slices.Concat([]string{"/posts/s"}, english, []string{"/sitemap.xml"}),
		},
		"draft":          {service.Change{}, nil},
		"withdrawn post": {service.Change{Entities: []content.Entity{"posts:en", "sitemap", "slug:s"}}, slices.Concat(english, []string{"/sitemap.xml"})},
		"translated post": {
			service.Change{Entities: []content.Entity{"posts:en", "posts:zh", "sitemap"}, Path: "/zh/posts/s"},
			slices.Concat([]string{"/zh/posts/s"}, english, chinese, []string{"/sitemap.xml"}),
		},
		"page":         {service.Change{Entities: []content.Entity{"page:r", "page:s", "sitemap"}, Path: "/pages/s"}, []string{"/pages/s", "/sitemap.xml"}},
		"deleted page": {service.Change{Entities: []content.Entity{"page:s", "sitemap"}}, []string{"/sitemap.xml"}},
		"renamed tag":  {service.Change{Entities: []content.Entity{"feed:zh", "post:1", "posts:zh", "tags:zh"}}, chinese},
		"key":          {service.Change{Entities: []content.Entity{"key:k"}}, nil},
		"navigation":   {service.Change{Entities: []content.Entity{"navigation"}}, slices.Concat(english, chinese, []string{"/sitemap.xml"})},
		"settings":     {service.Change{Entities: []content.Entity{"settings"}}, slices.Concat(english, chinese, []string{"/sitemap.xml"})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pages{}
				w := run(t, p, nothing)
				w.After(tt.change)
				time.Sleep(time.Second) //nolint:forbidigo // in a bubble
				synctest.Wait()
				if diff := cmp.Diff(tt.want, p.taken()); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}
