package service_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

func TestInvalidPosts(t *testing.T) {
	type in = service.PostInput
	d := newDesk(t)
	d.post(func(in *in) { in.Slug = "taken" })
	for _, tt := range []struct {
		field  string
		change func(in *in)
	}{
		{"slug", func(in *in) { in.Slug = "" }},
		{"slug", func(in *in) { in.Slug = "Ärger" }},
		{"slug", func(in *in) { in.Slug = "a--b" }},
		{"slug", func(in *in) { in.Slug = "../etc" }},
		{"slug", func(in *in) { in.Slug = strings.Repeat("a", 101) }},
		{"slug", func(in *in) { in.Slug = "taken" }},
		{"title", func(in *in) { in.Title = " " }},
		{"title", func(in *in) { in.Title = strings.Repeat("题", 201) }},
		{"title", func(in *in) { in.Title = "two\nlines" }},
		{"summary", func(in *in) { in.Summary = "a\x00b" }},
		{"summary", func(in *in) { in.Summary = "a\xffb" }},
		{"title", func(in *in) { in.Title = "a\uFFFE" }},
		{"body", func(in *in) { in.Body = "a\uFFFFb" }},
		{"body", func(in *in) { in.Body = "" }},
		{"body", func(in *in) { in.Body = strings.Repeat("a", 1<<20) }},
		{"tags", func(in *in) { in.Tags = []string{"nope"} }},
		{"tags", func(in *in) { in.Tags = slices.Repeat([]string{"go"}, 11) }},
		{"status", func(in *in) { in.Status = "" }},
		{"published_at", func(in *in) { in.Status, in.PublishedAt = content.Draft, march }},
		{"published_at", func(in *in) { in.Status = content.Scheduled }},
		{"published_at", func(in *in) { in.Status, in.PublishedAt = content.Scheduled, march }},
		{"published_at", func(in *in) { in.PublishedAt = march.Add(time.Second) }},
		{"published_at", func(in *in) { in.PublishedAt = time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC) }},
	} {
		_, err := d.SavePost(t.Context(), 0, input(tt.change))
		wantInvalid(t, err, tt.field)
	}
	if got := d.published(); len(got) > 0 {
		t.Errorf("a refused write was published: %v", got)
	}
}

// wantInvalid checks that err concerns only the field.
func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	e, ok := errors.AsType[*service.InvalidError](err)
	if !ok || len(e.Fields) != 1 || e.Fields[0].Field != field || !strings.HasPrefix(err.Error(), field+": ") {
		t.Errorf("the error is %v, want one about %s", err, field)
	}
}

func TestInvalidOthers(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	page := func(slug, title string) error {
		_, err := d.SavePage(ctx, 0, service.PageInput{Slug: slug, Title: title, Body: "b"})
		return err
	}
	nav := func(url string) error {
		return d.UpdateNavigation(ctx, []content.NavItem{{Label: "L", URL: url}})
	}
	set := func(change func(s *content.Settings)) error {
		s := settings()
		change(&s)
		return d.UpdateSettings(ctx, s)
	}
	key := func(in service.KeyInput) error { _, _, err := d.CreateAPIKey(ctx, in); return err }
	if err := page("taken", "T"); err != nil {
		t.Fatal(err)
	}
	d.published()
	for _, tt := range []struct {
		field string
		err   error
	}{
		{"slug", page("taken", "T")},
		{"title", page("x", "")},
		{"slug", d.CreateTag(ctx, content.Tag{Slug: "go", Name: "Go"})},
		{"slug", d.UpdateTag(ctx, "web", content.Tag{Slug: "go", Name: "Go"})},
		{"name", d.UpdateTag(ctx, "web", content.Tag{Slug: "web"})},
		{"items[0].url", nav("javascript:alert(1)")},
		{"items[0].url", nav("//evil.example")},
		{"items[0].url", nav(`/\evil.example`)},
		{"items[0].url", nav("pages/about")},
		{"items[0].url", nav("/pages/\uFFFE")},
		{"items[0].url", nav("https:///x")},
		{"items", d.UpdateNavigation(ctx, slices.Repeat([]content.NavItem{{Label: "L", URL: "/"}}, 51))},
		{"base_url", set(func(s *content.Settings) { s.BaseURL = "https://blog.example/" })},
		{"base_url", set(func(s *content.Settings) { s.BaseURL = "https://user@blog.example" })},
		{"base_url", set(func(s *content.Settings) { s.BaseURL = "ftp://blog.example" })},
		{"author", set(func(s *content.Settings) { s.Author = "" })},
		{"posts_per_page", set(func(s *content.Settings) { s.PostsPerPage = 0 })},
		{"feed_items", set(func(s *content.Settings) { s.FeedItems = 101 })},
		{"title", set(func(s *content.Settings) { s.Title = "" })},
		{"label", key(service.KeyInput{})},
		{"scopes", key(service.KeyInput{Label: "L", Scopes: []content.Scope{"admin"}})},
	} {
		wantInvalid(t, tt.err, tt.field)
	}
	for _, url := range []string{"/", "https://other.example/x?y#z", "http://a.example"} {
		if err := nav(url); err != nil {
			t.Errorf("navigation to %s: %v", url, err)
		}
	}
}

// A write returns the content of the store.
func TestWrittenIsWhatIsRead(t *testing.T) {
	d := newDesk(t)
	d.pass(1234567 * time.Nanosecond) // more precise than the store's milliseconds
	for _, change := range []func(in *service.PostInput){
		nil,
		func(in *service.PostInput) { in.Slug, in.Tags = "two", []string{"web", "go", "go"} },
		func(in *service.PostInput) { in.Slug, in.Tags, in.Status = "three", nil, content.Draft },
	} {
		p := d.post(change)
		got, err := d.store.AnyPost(t.Context(), p.ID)
		if diff := cmp.Diff(p, got); err != nil || diff != "" {
			t.Errorf("%v (-written +read):\n%s", err, diff)
		}
	}
}

func TestPublishDue(t *testing.T) {
	d := newDesk(t)
	for i, slug := range []string{"third", "first", "second"} {
		at := march.Add(time.Duration((i+2)%3+1) * time.Hour)
		d.post(func(in *service.PostInput) { in.Slug, in.Status, in.PublishedAt = slug, content.Scheduled, at })
	}
	publish := func(want ...string) {
		t.Helper()
		n, err := d.PublishDue(t.Context())
		var got []string
		for _, c := range d.published() {
			got = append(got, c.Slug)
		}
		if err != nil || n != len(want) || !slices.Equal(got, want) {
			t.Errorf("PublishDue = %d, %v and published %v, want %v", n, err, got, want)
		}
	}
	publish()
	d.pass(2*time.Hour + time.Minute)
	d.fail = errors.New("no") // for the first of them: the second is still published
	if n, err := d.PublishDue(t.Context()); n != 2 || err == nil {
		t.Errorf("PublishDue = %d, %v; want 2 and an error", n, err)
	}
	d.published()
	publish()
	d.pass(time.Hour)
	publish("third")
	p, err := d.store.PostBySlug(t.Context(), "first")
	if err != nil || !p.PublishedAt.Equal(march.Add(time.Hour)) || !p.UpdatedAt.Equal(march.Add(2*time.Hour+time.Minute)) {
		t.Errorf("the post is of %v, updated %v; %v", p.PublishedAt, p.UpdatedAt, err)
	}
}

func TestUnpublished(t *testing.T) {
	d := newDesk(t)
	d.fail = errors.New("the bus is down")
	p, err := d.SavePost(t.Context(), 0, input(nil))
	if _, ok := errors.AsType[*service.UnpublishedError](err); !ok || !strings.Contains(err.Error(), "the bus is down") {
		t.Errorf("the error is %v", err)
	}
	if got, err := d.store.PostBySlug(t.Context(), "one"); err != nil || got.ID != p.ID || p.ID == 0 {
		t.Errorf("the post is %d, %v; the write said %d", got.ID, err, p.ID)
	}
}
