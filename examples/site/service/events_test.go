package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

// eventCase is a write, and the change that it must publish.
type eventCase struct {
	name     string
	have     func(in *service.PostInput) // changes the post that exists before
	before   func(d *desk) error
	do       func(d *desk) error
	path     string
	entities []content.Entity
}

// Every kind of write publishes its change, once.
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
			d.want(service.Change{Entities: tt.entities, Path: tt.path})
		})
	}
}

func postEvents() []eventCase {
	type in = service.PostInput
	scheduled := func(in *in) { in.Status, in.PublishedAt = content.Scheduled, march.Add(time.Hour) }
	draft := func(in *in) { in.Status = content.Draft }
	update := func(change func(in *in)) func(d *desk) error {
		return func(d *desk) error { _, err := d.SavePost(d.t.Context(), 1, input(change)); return err }
	}
	lists := []content.Entity{"feed:en", "months:en", "post:1", "posts:en", "sitemap", "slug:one", "tags:en"}
	text := []content.Entity{"feed:en", "post:1", "posts:en", "sitemap", "slug:one"}
	return []eventCase{
		{
			"create", draft, nil, func(d *desk) error {
				_, err := d.SavePost(d.t.Context(), 0, input(func(in *in) { in.Slug = "two" }))
				return err
			},
			"/posts/two",
			[]content.Entity{"feed:en", "months:en", "post:2", "posts:en", "sitemap", "slug:two", "tags:en"},
		},
		{"create a draft", nil, nil, func(d *desk) error {
			_, err := d.SavePost(d.t.Context(), 0, input(func(in *in) { in.Slug, in.Status, in.Tags = "two", content.Draft, nil }))
			return err
		}, "", nil},
		{"update the text", nil, nil, update(func(in *in) { in.Body = "other" }), "/posts/one", text},
		{
			"update the slug", nil, nil, update(func(in *in) { in.Slug = "uno" }),
			"/posts/uno",
			[]content.Entity{"feed:en", "post:1", "posts:en", "sitemap", "slug:one", "slug:uno"},
		},
		{
			"update the tags", nil, nil, update(func(in *in) { in.Tags = []string{"web", "go", "web"} }),
			"/posts/one",
			[]content.Entity{"feed:en", "post:1", "posts:en", "sitemap", "slug:one", "tags:en"},
		},
		{
			"update the date", nil, nil, update(func(in *in) { in.PublishedAt = march.AddDate(0, -1, 0) }),
			"/posts/one",
			[]content.Entity{"feed:en", "months:en", "post:1", "posts:en", "sitemap", "slug:one"},
		},
		{
			"update the language", nil, nil, update(func(in *in) { in.Lang = content.Chinese }),
			"/zh/posts/one",
			[]content.Entity{
				"feed:en", "feed:zh", "months:en", "months:zh", "post:1", "posts:en", "posts:zh", "sitemap", "slug:one", "tags:en", "tags:zh",
			},
		},
		{"withdraw", nil, nil, update(draft), "", lists},
		{"update a draft", draft, nil, update(scheduled), "", nil},
		{"publish by hand", scheduled, nil, func(d *desk) error { _, err := d.PublishPost(d.t.Context(), 1); return err }, "/posts/one", lists},
		{"publish by job", scheduled, nil, func(d *desk) error { d.pass(time.Hour); _, err := d.PublishDue(d.t.Context()); return err }, "/posts/one", lists},
		{"delete", nil, nil, func(d *desk) error { return d.DeletePost(d.t.Context(), 1) }, "", lists},
		{"delete a draft", draft, nil, func(d *desk) error { return d.DeletePost(d.t.Context(), 1) }, "", nil},
	}
}

func otherEvents() []eventCase {
	page := service.PageInput{Slug: "about", Title: "About", Body: "b", Lang: "en"}
	withPage := func(d *desk) error { _, err := d.SavePage(d.t.Context(), 0, page); return err }
	draft := func(in *service.PostInput) { in.Status = content.Draft }
	return []eventCase{
		{"create a page", nil, nil, withPage, "/pages/about", []content.Entity{"page:about", "sitemap"}},
		{"update a page", nil, withPage, func(d *desk) error {
			moved := page
			moved.Slug = "who"
			_, err := d.SavePage(d.t.Context(), 1, moved)
			return err
		}, "/pages/who", []content.Entity{"page:about", "page:who", "sitemap"}},
		{"delete a page", nil, withPage, func(d *desk) error { return d.DeletePage(d.t.Context(), 1) }, "", []content.Entity{"page:about", "sitemap"}},

		{"create a tag", nil, nil, func(d *desk) error { return d.CreateTag(d.t.Context(), content.Tag{Slug: "x", Name: "X"}) }, "", nil},
		{
			"rename a tag", nil, nil, func(d *desk) error { return d.UpdateTag(d.t.Context(), "go", content.Tag{Slug: "golang", Name: "Go"}) },
			"", []content.Entity{"feed:en", "post:1", "posts:en", "tags:en"},
		},
		{
			"delete a tag", draft, nil, func(d *desk) error { return d.DeleteTag(d.t.Context(), "go") },
			"", nil,
		},

		{"settings", nil, nil, func(d *desk) error { return d.UpdateSettings(d.t.Context(), settings()) }, "", []content.Entity{"settings"}},
		{"navigation", nil, nil, func(d *desk) error { return d.UpdateNavigation(d.t.Context(), nil) }, "", []content.Entity{"navigation"}},
	}
}

func TestKeyEvents(t *testing.T) {
	d := newDesk(t)
	k, key, err := d.CreateAPIKey(t.Context(), service.KeyInput{Label: "L", Scopes: []content.Scope{"read", "read"}})
	if err != nil {
		t.Fatal(err)
	}
	change := service.Change{Entities: []content.Entity{content.KeyEntity(k.Prefix)}}
	d.want(change)
	if prefix, secret, ok := content.SplitKey(key); !ok || prefix != k.Prefix || !k.Matches(secret) || !k.Allows(content.ScopeRead) {
		t.Errorf("the key %q is not that of %+v", key, k)
	}
	if _, err := d.UpdateAPIKey(t.Context(), k.Prefix, service.KeyInput{Label: "M"}); err != nil {
		t.Fatal(err)
	}
	d.want(change)
	if err := d.RevokeAPIKey(t.Context(), k.Prefix); err != nil {
		t.Fatal(err)
	}
	d.want(change)
	if got, err := d.store.APIKeyByPrefix(t.Context(), k.Prefix); err != nil || got.Allows(content.ScopeRead) || got.Label != "M" || !got.RevokedAt.Equal(march) {
		t.Errorf("the key is %+v, %v", got, err)
	}
}

// Publish is called after the commit and before the write returns.
func TestPublishedBetweenCommitAndReturn(t *testing.T) {
	d := newDesk(t)
	seen := false
	d.during = func() {
		_, err := d.store.PostBySlug(t.Context(), "one")
		seen = err == nil
	}
	d.post(nil)
	if !seen {
		t.Error("the post was not there yet when it was published")
	}
}

// If the client disconnects during a write, the change is still published.
func TestCancelledCallerIsPublishedForAllTheSame(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.during = func() { cancel() } // Publish fails if its context has ended
	if _, err := d.SavePost(ctx, 0, input(nil)); err != nil {
		t.Error(err)
	}
	if n := len(d.published()); n != 1 {
		t.Errorf("%d changes, want 1", n)
	}
}
