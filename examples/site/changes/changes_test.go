package changes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/changes"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// layers writes down what is asked of the stages and of the warm-up.
type layers struct {
	mu    sync.Mutex
	calls []string
	fail  error // of the next call of a stage
}

func (l *layers) note(call string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call)
	return nil
}

func (l *layers) stage(name string) pipeline.Stage {
	return pipeline.Stage{Name: name, Invalidate: func(_ context.Context, entities []string, all bool) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		err := l.fail
		l.fail = nil
		if err == nil {
			l.calls = append(l.calls, fmt.Sprint(name, entities, all))
		}
		return err
	}}
}

// taken returns what was written down since it was last asked.
func (l *layers) taken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

func publisher(t *testing.T, l *layers) *changes.Publisher {
	t.Helper()
	p, err := changes.New(changes.Config{
		Stages: []pipeline.Stage{l.stage("objects"), l.stage("responses")},
		Warm:   func(_ context.Context, path string) error { return l.note("warm " + path) },
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go p.Run(ctx)
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		cancel()
	})
	return p
}

func wantCalls(t *testing.T, l *layers, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.taken()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

var (
	english = service.Place{Slug: "s", Lang: content.English, Public: true, Month: content.Month{Year: 2026, Month: 3}}
	chinese = service.Place{Slug: "s", Lang: content.Chinese, Public: true, Month: content.Month{Year: 2026, Month: 3}}
)

// A write finds the layers invalidated when it returns, in their order; what is
// likely to be read next is warmed up later.
func TestPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &layers{}
		p := publisher(t, l)
		if err := p.Publish(t.Context(), service.Change{Revision: 1, Events: []service.Event{service.SettingsUpdated{}}}); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, l, "objects[settings] false", "responses[settings] false")
		advance(time.Second)
		got := l.taken()
		slices.Sort(got)
		want := []string{
			"warm /", "warm /atom.xml", "warm /rss.xml", "warm /sitemap.xml", "warm /zh/", "warm /zh/atom.xml", "warm /zh/rss.xml",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// Whoever writes is told of a layer that failed, and the window makes up for it.
func TestFailureIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		l := &layers{fail: broken}
		p := publisher(t, l)
		err := p.Publish(t.Context(), service.Change{Revision: 1, Events: []service.Event{service.APIKeyRevoked{Prefix: "k"}}})
		if !errors.Is(err, broken) {
			t.Errorf("Publish = %v", err)
		}
		wantCalls(t, l)
		advance(time.Minute)
		wantCalls(t, l, "objects[key:k] false", "responses[key:k] false")
	})
}

func TestOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &layers{}
		p := publisher(t, l)
		if err := p.Entities(t.Context(), content.SitemapEntity); err != nil {
			t.Error(err)
		}
		wantCalls(t, l, "objects[sitemap] false", "responses[sitemap] false")
		if err := p.Everything(t.Context()); err != nil {
			t.Error(err)
		}
		wantCalls(t, l, "objects[] true", "responses[] true")
		for _, bad := range []content.Entity{"", "\xff", content.Entity(strings.Repeat("x", invalidate.MaxTagLen+1))} {
			if err := p.Entities(t.Context(), bad); !errors.Is(err, invalidate.ErrScope) {
				t.Errorf("Entities of %d bytes = %v", len(bad), err)
			}
		}
		wantCalls(t, l)
		if p.Stats().Queue.Flushes != 1 || len(p.Recent()) != 2 {
			t.Errorf("%+v, %+v", p.Stats(), p.Recent())
		}
	})
}

// Each kind of event names its subject, its entities, and what to warm up.
func TestEvents(t *testing.T) {
	front := []string{"/", "/rss.xml", "/atom.xml"}
	for name, tt := range map[string]struct {
		event   service.Event
		subject string
		deleted bool
		warms   []string
	}{
		"new post":       {service.PostUpserted{ID: 7, New: english}, "post:7", false, append([]string{"/posts/s"}, append(front, "/sitemap.xml")...)},
		"draft":          {service.PostUpserted{ID: 7, New: service.Place{Slug: "s", Lang: "en"}}, "post:7", false, nil},
		"withdrawn post": {service.PostUpserted{ID: 7, Old: english}, "post:7", false, append(slices.Clone(front), "/sitemap.xml")},
		"translated post": {
			service.PostUpserted{ID: 7, Old: english, New: chinese}, "post:7", false,
			[]string{"/zh/posts/s", "/zh/", "/zh/rss.xml", "/zh/atom.xml", "/", "/rss.xml", "/atom.xml", "/sitemap.xml"},
		},
		"deleted post": {service.PostDeleted{ID: 7, Old: english}, "post:7", true, append(slices.Clone(front), "/sitemap.xml")},
		"page":         {service.PageUpserted{ID: 7, OldSlug: "r", Slug: "s"}, "page:7", false, []string{"/pages/s", "/sitemap.xml"}},
		"deleted page": {service.PageDeleted{ID: 7, Slug: "s"}, "page:7", true, []string{"/sitemap.xml"}},
		"renamed tag": {
			service.TagChanged{OldSlug: "a", Slug: "b", Posts: []service.TaggedPost{{ID: 1, Lang: "zh", Public: true}, {ID: 2, Lang: "en"}}},
			"tag:a", false, []string{"/zh/"},
		},
		"new tag":     {service.TagChanged{Slug: "b"}, "tag:b", false, nil},
		"deleted tag": {service.TagChanged{OldSlug: "a"}, "tag:a", true, nil},
		"key":         {service.APIKeyUpserted{Prefix: "k"}, "key:k", false, nil},
		"revoked key": {service.APIKeyRevoked{Prefix: "k"}, "key:k", true, nil},
		"navigation":  {service.NavigationUpdated{}, "navigation", false, []string{"/", "/rss.xml", "/atom.xml", "/zh/", "/zh/rss.xml", "/zh/atom.xml", "/sitemap.xml"}},
	} {
		got := changes.Events(service.Change{Revision: 3, Events: []service.Event{tt.event}})
		if nothing := len(tt.event.Entities())+len(tt.warms) == 0 && !tt.deleted; nothing && len(got) == 0 {
			continue
		}
		if len(got) != 1 {
			t.Fatalf("%s: %v", name, got)
		}
		want := pipeline.Event{Key: "3/0/0", Subject: tt.subject, Deleted: tt.deleted, Invalidates: []string{}, Warms: tt.warms}
		for _, e := range tt.event.Entities() {
			want.Invalidates = append(want.Invalidates, string(e))
		}
		if diff := cmp.Diff(want, got[0], cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if err := got[0].Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A change that reaches more than fits into one event becomes several, and a
// change whose revision is not known is never taken for another.
func TestLargeAndUnknownChanges(t *testing.T) {
	var posts []service.TaggedPost
	for i := range 3000 {
		posts = append(posts, service.TaggedPost{ID: int64(i), Lang: "en", Public: true})
	}
	c := service.Change{Revision: 9, Events: []service.Event{service.TagChanged{OldSlug: "a", Posts: posts}}}
	n, keys := 0, map[string]bool{}
	for range 2 {
		for _, e := range changes.Events(c) {
			if err := e.Validate(); err != nil {
				t.Error(err)
			}
			n += len(e.Invalidates)
			keys[e.Key] = true
		}
		c.Revision = 0
	}
	if n != 2*3003 || len(keys) != 6 {
		t.Errorf("%d entities, %d keys", n, len(keys))
	}
	for range 2 {
		for _, e := range changes.Events(c) {
			keys[e.Key] = true
		}
	}
	if len(keys) != 12 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestWarmUp(t *testing.T) {
	s := sitetest.Slim(t)
	paths, err := changes.Front(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/", "/?page=2", "/zh/rss.xml", "/sitemap.xml", "/robots.txt", "/pages/about"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not warmed up: %v", want, paths)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		l := &layers{}
		p := publisher(t, l)
		var seen []int
		err := p.WarmUp(t.Context(), paths, func(done, total int, err error) {
			if total != len(paths) || err != nil {
				t.Errorf("%d of %d: %v", done, total, err)
			}
			seen = append(seen, done)
		})
		if err != nil || len(seen) != len(paths) || seen[len(seen)-1] != len(paths) || len(l.taken()) != len(paths) {
			t.Errorf("WarmUp = %v, told of %v", err, seen)
		}
	})
}

// A warm-up that fails is told of, and does not keep the others from being done.
func TestWarmUpFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		p, err := changes.New(changes.Config{
			Stages: []pipeline.Stage{(&layers{}).stage("objects")}, Logger: slog.New(slog.DiscardHandler),
			Warm: func(_ context.Context, path string) error {
				if path == "/b" {
					return broken
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close(context.Background())
		done := 0
		err = p.WarmUp(t.Context(), []string{"/a", "/b", "/c"}, func(int, int, error) { done++ })
		if !errors.Is(err, broken) || done != 3 {
			t.Errorf("WarmUp = %v after %d", err, done)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	if _, err := changes.New(changes.Config{Stages: []pipeline.Stage{{}}}); err == nil {
		t.Error("a stage without a name was taken")
	}
}

// advance lets d pass, and everything that it woke come to rest.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
