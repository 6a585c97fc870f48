package service_test

import (
	"slices"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/service"
)

// eventCase is a write, and the events that it must publish.
type eventCase struct {
	name   string
	have   func(in *service.PostInput) // changes the post that exists before
	before func(d *desk) error
	do     func(d *desk) error
	want   []events.Event
}

// Every kind of write publishes its events, once.
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
			d.want(tt.want...)
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
	one := "one"
	lists := []content.Entity{content.PostsEntity, content.FeedEntity, content.SitemapEntity}
	tags, months := content.TagsEntity, content.MonthsEntity
	all := append(slices.Clone(lists), tags, months)
	with := func(more ...content.Entity) []content.Entity { return append(slices.Clone(lists), more...) }
	upserted := func(at, before string, sets []content.Entity) []events.Event {
		return []events.Event{{Kind: events.PostUpserted, ID: 1, Slug: at, Before: before, Sets: sets}}
	}
	gone := []events.Event{{Kind: events.PostDeleted, ID: 1, Slug: one, Before: one, Sets: all}}
	return []eventCase{
		{"create", draft, nil, func(d *desk) error {
			_, err := d.SavePost(d.t.Context(), 0, input(func(in *in) { in.Slug = "two" }))
			return err
		}, []events.Event{{Kind: events.PostUpserted, ID: 2, Slug: "two", Sets: all}}},
		{"create a draft", nil, nil, func(d *desk) error {
			_, err := d.SavePost(d.t.Context(), 0, input(func(in *in) { in.Slug, in.Status, in.Tags = "two", content.Draft, nil }))
			return err
		}, nil},
		{"update the text", nil, nil, update(func(in *in) { in.Body = "other" }), upserted(one, one, lists)},
		{"update the slug", nil, nil, update(func(in *in) { in.Slug = "uno" }), upserted("uno", one, lists)},
		{"update the tags", nil, nil, update(func(in *in) { in.Tags = []string{"web", "go", "web"} }), upserted(one, one, with(tags))},
		{"update the date", nil, nil, update(func(in *in) { in.PublishedAt = march.AddDate(0, -1, 0) }), upserted(one, one, with(months))},
		{"withdraw by an update", nil, nil, update(draft), gone},
		{"update a draft", draft, nil, update(scheduled), nil},
		{"publish by hand", scheduled, nil, func(d *desk) error { _, err := d.PublishPost(d.t.Context(), 1); return err }, upserted(one, "", all)},
		{"publish by job", scheduled, nil, func(d *desk) error { d.pass(time.Hour); _, err := d.PublishDue(d.t.Context()); return err }, upserted(one, "", all)},
		{"roll back", nil, nil, func(d *desk) error { _, err := d.WithdrawPost(d.t.Context(), 1); return err }, gone},
		{"roll back a draft", draft, nil, func(d *desk) error { _, err := d.WithdrawPost(d.t.Context(), 1); return err }, nil},
		{"render", nil, nil, func(d *desk) error { _, err := d.RenderPost(d.t.Context(), 1); return err }, upserted(one, one, lists)},
		{"delete", nil, nil, func(d *desk) error { return d.DeletePost(d.t.Context(), 1) }, gone},
		{"delete a draft", draft, nil, func(d *desk) error { return d.DeletePost(d.t.Context(), 1) }, nil},
	}
}

func otherEvents() []eventCase {
	about, who, sitemap := "about", "who", []content.Entity{content.SitemapEntity}
	page := service.PageInput{Slug: "about", Title: "About", Body: "b"}
	withPage := func(d *desk) error { _, err := d.SavePage(d.t.Context(), 0, page); return err }
	draft := func(in *service.PostInput) { in.Status = content.Draft }
	return []eventCase{
		{"create a page", nil, nil, withPage, []events.Event{{Kind: events.PageUpserted, ID: 1, Slug: about, Sets: sitemap}}},
		{"update a page", nil, withPage, func(d *desk) error {
			moved := page
			moved.Slug = "who"
			_, err := d.SavePage(d.t.Context(), 1, moved)
			return err
		}, []events.Event{{Kind: events.PageUpserted, ID: 1, Slug: who, Before: about, Sets: sitemap}}},
		{"delete a page", nil, withPage, func(d *desk) error { return d.DeletePage(d.t.Context(), 1) }, []events.Event{
			{Kind: events.PageDeleted, ID: 1, Slug: about, Before: about, Sets: sitemap},
		}},

		{"create a tag", nil, nil, func(d *desk) error { return d.CreateTag(d.t.Context(), content.Tag{Slug: "x", Name: "X"}) }, nil},
		{
			"rename a tag", nil, nil, func(d *desk) error { return d.UpdateTag(d.t.Context(), "go", content.Tag{Slug: "golang", Name: "Go"}) },
			[]events.Event{{
				Kind: events.PostUpserted, ID: 1, Slug: "one",
				Sets: []content.Entity{content.PostsEntity, content.FeedEntity, content.TagsEntity},
			}},
		},
		{
			"delete a tag", draft, nil, func(d *desk) error { return d.DeleteTag(d.t.Context(), "go") },
			nil,
		},

		{"settings", nil, nil, func(d *desk) error { return d.UpdateSettings(d.t.Context(), settings()) }, []events.Event{{Kind: events.SiteSettingsUpdated}}},
		{"navigation", nil, nil, func(d *desk) error { return d.UpdateNavigation(d.t.Context(), nil) }, []events.Event{{Kind: events.NavigationUpdated}}},
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
