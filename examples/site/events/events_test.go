package events_test

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
	"github.com/prometheus/client_golang/prometheus"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/invalidate"
)

func texts(scopes []invalidate.Scope) (all []string) {
	for _, s := range scopes {
		all = append(all, strings.TrimPrefix(s.Text(), "default:"))
	}
	return all
}

// The matrix: what each event invalidates and warms up.
func TestMatrix(t *testing.T) {
	lists := []content.Entity{content.PostsEntity, content.FeedEntity, content.SitemapEntity}
	front := []string{"/", "/rss.xml", "/sitemap.xml"}
	for _, tt := range []struct {
		event         events.Event
		objects, warm []string
		objectsAlone  bool
	}{
		{event: events.Event{Kind: events.SiteSettingsUpdated}, objects: []string{"settings"}, warm: front},
		{event: events.Event{Kind: events.NavigationUpdated}, objects: []string{"navigation"}, warm: front},
		{
			event:   events.Event{Kind: events.PostUpserted, ID: 1, Slug: "a", Sets: lists},
			objects: []string{"feed", "post:1", "posts", "sitemap", "slug:a"}, warm: []string{"/", "/posts/a", "/rss.xml", "/sitemap.xml"},
		},
		{
			event:   events.Event{Kind: events.PostUpserted, ID: 1, Slug: "b", Before: "a", Sets: []content.Entity{content.TagsEntity, content.MonthsEntity}},
			objects: []string{"months", "post:1", "slug:a", "slug:b", "tags"}, warm: []string{"/", "/posts/b"},
		},
		{
			event:   events.Event{Kind: events.PostDeleted, ID: 1, Slug: "a", Before: "a", Sets: lists},
			objects: []string{"feed", "post:1", "posts", "sitemap", "slug:a"}, warm: []string{"/", "/rss.xml", "/sitemap.xml"},
		},
		{
			event:   events.Event{Kind: events.PageUpserted, ID: 2, Slug: "a", Before: "b", Sets: []content.Entity{content.SitemapEntity}},
			objects: []string{"page-slug:a", "page-slug:b", "page:2", "sitemap"}, warm: []string{"/pages/a", "/sitemap.xml"},
		},
		{
			event:   events.Event{Kind: events.PageDeleted, ID: 2, Slug: "a", Sets: []content.Entity{content.SitemapEntity}},
			objects: []string{"page-slug:a", "page:2", "sitemap"}, warm: []string{"/sitemap.xml"},
		},
		{event: events.Event{Kind: events.APIKeyUpserted, Prefix: "p"}, objects: []string{"key:p"}, objectsAlone: true},
		{event: events.Event{Kind: events.APIKeyRevoked, Prefix: "p"}, objects: []string{"key:p"}, objectsAlone: true},
		{event: events.Event{Kind: events.WarmupOnStartup}, warm: []string{events.Front}},
		{event: events.Event{Kind: events.QueueOverflowed}, objects: []string{""}, warm: []string{events.Front}},
	} {
		p := events.MakePlan([]events.Event{tt.event})
		responses := tt.objects
		if tt.objectsAlone {
			responses = nil
		}
		if d := cmp.Diff([][]string{tt.objects, responses, tt.warm}, [][]string{texts(p.Objects), texts(p.Responses), p.Warm}); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.event.Kind, tt.event.Key(), d)
		}
	}
}

// A post that moves from a to b to c invalidates all three, and warms up the last. A deletion
// warms up nothing, even if it comes out of order.
func TestPlanOfOneEntity(t *testing.T) {
	moved := []events.Event{
		{Kind: events.PostUpserted, Epoch: 7, ID: 1, Slug: "c", Before: "b"},
		{Kind: events.PostUpserted, Epoch: 6, ID: 1, Slug: "b", Before: "a"},
	}
	p := events.MakePlan(moved)
	if d := cmp.Diff([]string{"post:1", "slug:a", "slug:b", "slug:c"}, texts(p.Objects)); d != "" || !slices.Equal(p.Warm, []string{"/posts/c"}) {
		t.Errorf("%v; (-want +got):\n%s", p.Warm, d)
	}
	for _, epoch := range []int64{7, 8} {
		all := append([]events.Event{{Kind: events.PostDeleted, Epoch: epoch, ID: 1, Slug: "c"}}, moved...)
		if p := events.MakePlan(all); len(p.Warm) > 0 || len(p.Objects) != 4 {
			t.Errorf("deleted at epoch %d: %v, %v", epoch, texts(p.Objects), p.Warm)
		}
	}
	if keys := moved[0].Key() + moved[1].Key(); keys != "post1@7post1@6" {
		t.Errorf("the keys are %s", keys)
	}
}

// What another process invalidates explains itself.
func TestHeard(t *testing.T) {
	post := content.Summary{ID: 1, Slug: "a", Status: content.Published}
	moved := post
	moved.Slug = "b"
	page := content.Page{ID: 2, Slug: "about"}
	read := content.Reader{
		PostByID: func(_ context.Context, id int64) (content.Post, error) {
			if id != 1 {
				return content.Post{}, content.ErrNotFound
			}
			return content.Post{Summary: moved}, nil
		},
		PageByID: func(context.Context, int64) (content.Page, error) { return page, nil },
	}
	for _, tt := range []struct {
		scopes []invalidate.Scope
		warm   []string
	}{
		{events.MakePlan(events.Post(content.Summary{}, post)).Objects, []string{"/", "/posts/b", "/rss.xml", "/sitemap.xml"}},
		{events.MakePlan(events.Post(post, moved)).Objects, []string{"/", "/posts/b", "/rss.xml", "/sitemap.xml"}},
		{events.MakePlan(events.Page(page, page)).Objects, []string{"/pages/about", "/sitemap.xml"}},
		{[]invalidate.Scope{content.PostEntity(3).Scope(), content.SlugEntity("gone").Scope()}, nil},
		{[]invalidate.Scope{content.NavigationEntity.Scope()}, []string{"/", "/rss.xml", "/sitemap.xml"}},
		{[]invalidate.Scope{invalidate.All()}, []string{events.Front}},
		{[]invalidate.Scope{content.KeyEntity("p").Scope()}, nil},
		{nil, nil},
	} {
		var fences []invalidate.Fence
		for _, s := range tt.scopes {
			fences = append(fences, invalidate.Fence{Scope: s})
		}
		if d := cmp.Diff(tt.warm, events.MakePlan(events.Heard(t.Context(), fences, read)).Warm); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.scopes, d)
		}
	}
}

// stage is a Consumer whose layers fail when told to, with a record of its steps.
type stage struct {
	*events.Consumer
	metrics *prometheus.Registry
	mu      sync.Mutex // protects the rest
	steps   []string
	broken  string        // the step that fails
	hold    chan struct{} // the objects wait for it
}

func newStage(batch, most int) *stage {
	s := &stage{metrics: prometheus.NewRegistry()}
	s.Consumer = s.start(batch, most)
	return s
}

// start returns a Consumer with an empty queue, as a new process has one.
func (s *stage) start(batch, most int) *events.Consumer {
	step := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			s.mu.Lock()
			hold := s.hold
			s.mu.Unlock()
			if hold != nil {
				select {
				case <-hold:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.steps = append(s.steps, name)
			if s.broken == name {
				return errors.New("the log does not answer")
			}
			return nil
		}
	}
	s.metrics = prometheus.NewRegistry()
	return events.New(events.Config{
		Objects: step("objects"), Responses: step("responses"),
		Warm: func(paths ...string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.steps = append(s.steps, paths...)
		},
		Batch: batch, Max: most, After: 5 * time.Second, Within: time.Second, Log: slog.New(slog.DiscardHandler), Metrics: s.metrics,
	})
}

func (s *stage) breaks(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = step
}

func (s *stage) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	steps := s.steps
	s.steps = nil
	return steps
}

func (s *stage) want(t *testing.T, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, s.taken()); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
}

func (s *stage) counts(t *testing.T, want map[string]float64) {
	t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "site_event_")
			if n, ok := want[name]; ok && n != m.GetCounter().GetValue()+m.GetGauge().GetValue()+m.GetHistogram().GetSampleSum() {
				t.Errorf("%s is %v, want %v", name, m, n)
			}
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
}

func posts(epoch int64, ids ...int64) (all []events.Event) {
	for _, id := range ids {
		all = append(all, events.Event{Kind: events.PostUpserted, Epoch: epoch, ID: id, Slug: fmt.Sprint(id)})
	}
	return all
}

// A write consumes its events in batches: objects, responses, warm-ups. It does not leave some
// because more than a batch waits.
func TestConsumeByWrites(t *testing.T) {
	s := newStage(2, 10)
	if err := s.Publish(t.Context(), append(posts(1, 1, 2), append(posts(1, 2), posts(1, 3)...)...)...); err != nil {
		t.Error(err)
	}
	s.want(t, "objects", "responses", "/posts/1", "/posts/2", "objects", "responses", "/posts/3")
	if err := s.Publish(t.Context(), events.Event{Kind: events.APIKeyRevoked, Prefix: "p"}); err != nil {
		t.Error(err)
	}
	s.want(t, "objects")
	s.counts(t, map[string]float64{"write_triggered_consumes_total": 2, "drain_size": 4, "queue_len": 0, "failures_total": 0})
}

// What a failed consumption leaves, the window consumes, and counts it.
func TestConsumeByTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(10, 10)
		go s.Run(t.Context())
		synctest.Wait()
		s.want(t, events.Front)
		s.breaks("responses")
		if err := s.Publish(t.Context(), posts(1, 1)...); err == nil {
			t.Error("a failure is hidden")
		}
		s.want(t, "objects", "responses")
		s.counts(t, map[string]float64{"queue_len": 1, "failures_total": 1})
		advance(5 * time.Second)
		s.want(t, "objects", "responses")
		s.breaks("")
		advance(10 * time.Second)
		s.want(t, "objects", "responses", "/posts/1")
		s.counts(t, map[string]float64{"queue_len": 0, "failures_total": 2, "auto_consume_runs_total": 3, "auto_consume_hits_total": 2})
	})
}

// A full queue waits for everything, and warms up the first pages. No event is forgotten.
func TestOverflow(t *testing.T) {
	s := newStage(10, 3)
	s.breaks("objects")
	for i := range int64(5) {
		if err := s.Publish(t.Context(), posts(i, i)...); err == nil {
			t.Error("a failure is hidden")
		}
	}
	s.taken()
	s.breaks("")
	if err := s.Publish(t.Context(), posts(9, 9)...); err != nil {
		t.Error(err)
	}
	s.want(t, "objects", "responses", events.Front, "/posts/4", "/posts/9")
	s.counts(t, map[string]float64{"dropped_total": 4, "queue_len": 0})
}

// advance lets d pass in a bubble, and waits until all goroutines block.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
