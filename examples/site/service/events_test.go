package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

var (
	inMarch = content.Month{Year: 2026, Month: time.March}
	public  = service.Place{Slug: "one", Lang: "en", Public: true, Month: inMarch, Tags: []string{"go", "tea"}}
	hidden  = service.Place{Slug: "one", Lang: "en", Tags: []string{"go", "tea"}}
)

// eventCase is a write, and what is to be published of it.
type eventCase struct {
	name     string
	have     func(in *service.PostInput) // changes the post that is there before
	before   func(d *desk) error
	do       func(d *desk) error
	want     service.Event
	entities []content.Entity
}

// Every write path publishes its events, once, and these say what they change.
func TestEvents(t *testing.T) {
	for _, tt := range append(postEvents(), otherEvents()...) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.post(tt.have)
			if tt.before != nil {
				if err := tt.before(d); err != nil {
					t.Fatal(err)
				}
			}
			d.published()
			if err := tt.do(d); err != nil {
				t.Fatal(err)
			}
			d.want(tt.want)
			if diff := cmp.Diff(tt.entities, service.Change{Events: []service.Event{tt.want}}.Entities()); diff != "" {
				t.Errorf("entities (-want +got):\n%s", diff)
			}
		})
	}
}

func postEvents() []eventCase {
	type in = service.PostInput
	scheduled := func(in *in) { in.Status, in.PublishedAt = content.Scheduled, march.Add(time.Hour) }
	draft := func(in *in) { in.Status = content.Draft }
	update := func(change func(in *in)) func(d *desk) error {
		return func(d *desk) error { _, err := d.UpdatePost(d.t.Context(), 1, input(change)); return err }
	}
	lists := []content.Entity{"feed:en", "months:en", "post:1", "posts:en", "sitemap", "slug:one", "tags:en"}
	text := []content.Entity{"feed:en", "post:1", "posts:en", "sitemap", "slug:one"}
	return []eventCase{
		{
			"create", draft, nil, func(d *desk) error {
				_, err := d.CreatePost(d.t.Context(), input(func(in *in) { in.Slug = "two" }))
				return err
			},
			service.PostUpserted{ID: 2, New: place(public, func(p *service.Place) { p.Slug = "two" })},
			[]content.Entity{"feed:en", "months:en", "post:2", "posts:en", "sitemap", "slug:two", "tags:en"},
		},
		{"create a draft", nil, nil, func(d *desk) error {
			_, err := d.CreatePost(d.t.Context(), input(func(in *in) { in.Slug, in.Status, in.Tags = "two", content.Draft, nil }))
			return err
		}, service.PostUpserted{ID: 2, New: service.Place{Slug: "two", Lang: "en", Tags: []string{}}}, nil},
		{"update the text", nil, nil, update(func(in *in) { in.Body = "other" }), service.PostUpserted{1, public, public}, text},
		{
			"update the slug", nil, nil, update(func(in *in) { in.Slug = "uno" }),
			service.PostUpserted{1, public, place(public, func(p *service.Place) { p.Slug = "uno" })},
			[]content.Entity{"feed:en", "post:1", "posts:en", "sitemap", "slug:one", "slug:uno"},
		},
		{
			"update the tags", nil, nil, update(func(in *in) { in.Tags = []string{"web", "go", "web"} }),
			service.PostUpserted{1, public, place(public, func(p *service.Place) { p.Tags = []string{"go", "web"} })},
			[]content.Entity{"feed:en", "post:1", "posts:en", "sitemap", "slug:one", "tags:en"},
		},
		{
			"update the date", nil, nil, update(func(in *in) { in.PublishedAt = march.AddDate(0, -1, 0) }),
			service.PostUpserted{1, public, place(public, func(p *service.Place) { p.Month.Month = time.February })},
			[]content.Entity{"feed:en", "months:en", "post:1", "posts:en", "sitemap", "slug:one"},
		},
		{
			"update the language", nil, nil, update(func(in *in) { in.Lang = content.Chinese }),
			service.PostUpserted{1, public, place(public, func(p *service.Place) { p.Lang = "zh" })},
			[]content.Entity{
				"feed:en", "feed:zh", "months:en", "months:zh", "post:1", "posts:en", "posts:zh", "sitemap", "slug:one", "tags:en", "tags:zh",
			},
		},
		{"withdraw", nil, nil, update(draft), service.PostUpserted{1, public, hidden}, lists},
		{"update a draft", draft, nil, update(scheduled), service.PostUpserted{1, hidden, hidden}, nil},
		{"publish by hand", scheduled, nil, func(d *desk) error { _, err := d.PublishPost(d.t.Context(), 1); return err }, service.PostUpserted{1, hidden, public}, lists},
		{"publish by job", scheduled, nil, func(d *desk) error { d.pass(time.Hour); _, err := d.PublishDue(d.t.Context()); return err }, service.PostUpserted{1, hidden, public}, lists},
		{"delete", nil, nil, func(d *desk) error { return d.DeletePost(d.t.Context(), 1) }, service.PostDeleted{1, public}, lists},
		{"delete a draft", draft, nil, func(d *desk) error { return d.DeletePost(d.t.Context(), 1) }, service.PostDeleted{1, hidden}, nil},
	}
}

func otherEvents() []eventCase {
	page := service.PageInput{Slug: "about", Title: "About", Body: "b", Lang: "en"}
	withPage := func(d *desk) error { _, err := d.CreatePage(d.t.Context(), page); return err }
	draft := func(in *service.PostInput) { in.Status = content.Draft }
	return []eventCase{
		{"create a page", nil, nil, withPage, service.PageUpserted{ID: 1, Slug: "about"}, []content.Entity{"page:about", "sitemap"}},
		{"update a page", nil, withPage, func(d *desk) error {
			moved := page
			moved.Slug = "who"
			_, err := d.UpdatePage(d.t.Context(), 1, moved)
			return err
		}, service.PageUpserted{1, "about", "who"}, []content.Entity{"page:about", "page:who", "sitemap"}},
		{"delete a page", nil, withPage, func(d *desk) error { return d.DeletePage(d.t.Context(), 1) }, service.PageDeleted{1, "about"}, []content.Entity{"page:about", "sitemap"}},

		{"create a tag", nil, nil, func(d *desk) error { return d.CreateTag(d.t.Context(), content.Tag{Slug: "x", Name: "X"}) }, service.TagChanged{Slug: "x"}, nil},
		{
			"rename a tag", nil, nil, func(d *desk) error { return d.UpdateTag(d.t.Context(), "go", content.Tag{Slug: "golang", Name: "Go"}) },
			service.TagChanged{"go", "golang", []service.TaggedPost{{1, "one", "en", true}}}, []content.Entity{"feed:en", "post:1", "posts:en", "tags:en"},
		},
		{
			"delete a tag", draft, nil, func(d *desk) error { return d.DeleteTag(d.t.Context(), "go") },
			service.TagChanged{OldSlug: "go", Posts: []service.TaggedPost{{1, "one", "en", false}}}, nil,
		},

		{"settings", nil, nil, func(d *desk) error { return d.UpdateSettings(d.t.Context(), settings()) }, service.SettingsUpdated{}, []content.Entity{"settings"}},
		{"navigation", nil, nil, func(d *desk) error { return d.UpdateNavigation(d.t.Context(), nil) }, service.NavigationUpdated{}, []content.Entity{"navigation"}},
	}
}

func place(p service.Place, change func(p *service.Place)) service.Place {
	change(&p)
	return p
}

func TestKeyEvents(t *testing.T) {
	d := newDesk(t)
	k, key, err := d.CreateAPIKey(t.Context(), service.KeyInput{Label: "L", Scopes: []content.Scope{"read", "read"}})
	if err != nil {
		t.Fatal(err)
	}
	d.want(service.APIKeyUpserted{k.Prefix})
	if prefix, secret, ok := content.SplitKey(key); !ok || prefix != k.Prefix || !k.Matches(secret) || !k.Allows(content.ScopeRead) {
		t.Errorf("the key %q is not that of %+v", key, k)
	}
	if _, err := d.UpdateAPIKey(t.Context(), k.Prefix, service.KeyInput{Label: "M"}); err != nil {
		t.Fatal(err)
	}
	d.want(service.APIKeyUpserted{k.Prefix})
	if err := d.RevokeAPIKey(t.Context(), k.Prefix); err != nil {
		t.Fatal(err)
	}
	d.want(service.APIKeyRevoked{k.Prefix})
	if got, err := d.store.APIKeyByPrefix(t.Context(), k.Prefix); err != nil || got.Allows(content.ScopeRead) || got.Label != "M" || !got.RevokedAt.Equal(march) {
		t.Errorf("the key is %+v, %v", got, err)
	}
}

// An event comes after the commit and before the write returns.
func TestPublishedBetweenCommitAndReturn(t *testing.T) {
	d := newDesk(t)
	seen := false
	d.during = func(c service.Change) {
		_, err := d.store.PostBySlug(t.Context(), "one")
		seen = err == nil && c.Revision > 0
	}
	d.post(nil)
	if !seen {
		t.Error("the post was not there yet when it was published")
	}
}

// A client that hangs up in the middle does not keep a change from being published.
func TestCancelledCallerIsPublishedForAllTheSame(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.during = func(service.Change) { cancel() } // Publish itself complains if its context ends
	if _, err := d.CreatePost(ctx, input(nil)); err != nil {
		t.Error(err)
	}
	if n := len(d.published()); n != 1 {
		t.Errorf("%d changes, want 1", n)
	}
}
