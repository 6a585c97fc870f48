package service_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
)

// desk is a service on an empty store with a few tags, a clock, and the published events.
type desk struct {
	*service.Service
	t     *testing.T
	store *store.Store
	epoch int64 // of the last event that want has seen

	mu      sync.Mutex
	now     time.Time
	changes []events.Event
	fail    error // the error of the next Publish
	during  func()
}

var march = time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, store: sitetest.Empty(t), now: march}
	d.Service = service.New(d.store, service.Config{Publish: d.publish, Now: d.clock})
	for _, slug := range []string{"go", "tea", "web"} {
		if err := d.CreateTag(t.Context(), content.Tag{Slug: slug, Name: strings.ToUpper(slug)}); err != nil {
			t.Fatal(err)
		}
	}
	d.published()
	return d
}

func (d *desk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *desk) pass(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

func (d *desk) publish(ctx context.Context, all ...events.Event) error {
	if d.during != nil {
		d.during()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = append(d.changes, all...)
	err := d.fail
	d.fail = nil
	if ctx.Err() != nil {
		d.t.Errorf("Publish was called with a context that has ended: %v", ctx.Err())
	}
	return err
}

// published returns the events since the last call.
func (d *desk) published() []events.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.changes
	d.changes = nil
	return out
}

// want checks the published events since the last call, without their epochs, which must grow.
func (d *desk) want(want ...events.Event) {
	d.t.Helper()
	got := d.published()
	for i := range got {
		if got[i].Epoch < d.epoch || got[i].Epoch == 0 {
			d.t.Errorf("epoch %d after %d", got[i].Epoch, d.epoch)
		}
		d.epoch, got[i].Epoch = got[i].Epoch, 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("published (-want +got):\n%s", diff)
	}
}

// post creates a post, and fails the test on an error.
func (d *desk) post(change func(in *service.PostInput)) content.Post {
	d.t.Helper()
	p, err := d.SavePost(d.t.Context(), 0, input(change))
	if err != nil {
		d.t.Fatal(err)
	}
	d.published()
	return p
}

// input returns a post that is published now, with a change.
func input(change func(in *service.PostInput)) service.PostInput {
	in := service.PostInput{
		Slug: "one", Title: "One", Summary: "A post.", Body: "*Text*", Status: content.Published,
		Tags: []string{"go", "tea"},
	}
	if change != nil {
		change(&in)
	}
	return in
}

func settings() content.Settings {
	return content.Settings{
		BaseURL: "https://blog.example", Author: "A", PostsPerPage: 3, FeedItems: 4,
		Title: "T",
	}
}
