package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
)

var day = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)

// write runs fn in a transaction that must succeed.
func write(t *testing.T, s *store.Store, fn func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

func post(slug string, status content.Status, at time.Time, tags ...content.Tag) content.Post {
	return content.Post{Body: "Body of " + slug, Summary: content.Summary{
		Slug: slug, Title: slug, Status: status, PublishedAt: at, UpdatedAt: day, Tags: tags,
	}}
}

// path returns the path of a new file, with characters that have a meaning in a URL.
func path(t *testing.T) string { return filepath.Join(t.TempDir(), "a b?c#d%20.db") }

func TestOpenKeepsWhatIsThere(t *testing.T) {
	db := path(t)
	for i := range 2 {
		s, err := store.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		slug := strconv.Itoa(i)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.SaveTag(ctx, 0, content.Tag{Slug: slug, Name: slug})
		})
		if tags, err := s.Tags(t.Context()); err != nil || len(tags) != i+1 {
			t.Errorf("after %d writes there are %v, %v", i+1, tags, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	s := sitetest.Open(t, path(t))
	tag := content.Tag{Slug: "x", Name: "X & Y"}
	want := post("one", content.Published, day.Add(123*time.Millisecond), tag)
	key := content.APIKey{Prefix: "p", Label: "L", Hash: content.HashSecret("s"), Scopes: []content.Scope{}, CreatedAt: day}
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		if err := tx.SaveTag(ctx, 0, tag); err != nil {
			return err
		}
		if want.ID, err = tx.SavePost(ctx, want); err != nil {
			return err
		}
		return tx.SaveAPIKey(ctx, key)
	})
	got, err := s.PostBySlug(t.Context(), "one")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("post: %v %s", err, diff)
	}
	gotKey, err := s.APIKeyByPrefix(t.Context(), "p")
	if diff := cmp.Diff(key, gotKey); err != nil || diff != "" {
		t.Errorf("key: %v %s", err, diff)
	}
	entries, err := s.Sitemap(t.Context())
	if diff := cmp.Diff([]content.SitemapEntry{{Path: "/posts/one", UpdatedAt: day}}, entries); err != nil || diff != "" {
		t.Errorf("sitemap: %v %s", err, diff)
	}
}

func TestPublicReadsSeePublishedPostsOnly(t *testing.T) {
	s := sitetest.Open(t, path(t))
	tag := content.Tag{Slug: "x", Name: "X"}
	var ids []int64
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		err := tx.SaveTag(ctx, 0, tag)
		for _, p := range []content.Post{
			post("draft", content.Draft, time.Time{}, tag), post("later", content.Scheduled, day, tag),
		} {
			id, e := tx.SavePost(ctx, p)
			ids, err = append(ids, id), errors.Join(err, e)
		}
		return err
	})
	for i, slug := range []string{"draft", "later"} {
		if _, err := s.PostBySlug(t.Context(), slug); !errors.Is(err, content.ErrNotFound) {
			t.Errorf("PostBySlug(%s) = %v", slug, err)
		}
		if _, err := s.PostByID(t.Context(), ids[i]); !errors.Is(err, content.ErrNotFound) {
			t.Errorf("PostByID(%s) = %v", slug, err)
		}
		if p, err := s.AnyPost(t.Context(), ids[i]); err != nil || p.Slug != slug {
			t.Errorf("AnyPost(%s) = %q, %v", slug, p.Slug, err)
		}
	}
	for _, f := range []content.Filter{{}, {Tag: "x"}} {
		if l, err := s.ListPosts(t.Context(), f, content.Window{Number: 1, Size: 10}); err != nil || l.Total != 0 || len(l.Posts) != 0 {
			t.Errorf("ListPosts(%v) = %v, %v", f, l, err)
		}
	}
	tags, err := s.TagCounts(t.Context())
	months, err2 := s.MonthCounts(t.Context())
	feed, err3 := s.FeedItems(t.Context(), 10)
	entries, err4 := s.Sitemap(t.Context())
	if err := errors.Join(err, err2, err3, err4); err != nil || len(tags)+len(months)+len(feed)+len(entries) != 0 {
		t.Errorf("tags %v, months %v, feed %v, sitemap %v, %v", tags, months, feed, entries, err)
	}
	if due, err := s.DuePosts(t.Context(), day.UnixMilli()); err != nil || !slices.Equal(due, ids[1:]) {
		t.Errorf("due are %v, %v; want %v", due, err, ids[1:])
	}
}

// The counts equal the lengths of the lists, and the windows of a list cover it.
func TestListsAndCountsAgree(t *testing.T) {
	s := sitetest.Fill(t, path(t))
	wantList(t, s, content.Filter{}, -1)
	tags, err := s.TagCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range tags {
		wantList(t, s, content.Filter{Tag: c.Slug}, c.Posts)
	}
	months, err := s.MonthCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range months {
		wantList(t, s, content.Filter{Month: c.Month}, c.Posts)
	}
}

// wantList checks a list of want posts, or of any number if want is negative.
func wantList(t *testing.T, s *store.Store, f content.Filter, want int) {
	t.Helper()
	var all []content.Summary
	for n := 1; ; n++ {
		l, err := s.ListPosts(t.Context(), f, content.Window{Number: n, Size: 30})
		if err != nil {
			t.Fatal(err)
		}
		if want < 0 {
			want = l.Total
		}
		if l.Total != want {
			t.Errorf("%v: window %d has a total of %d, want %d", f, n, l.Total, want)
		}
		if len(l.Posts) == 0 {
			break
		}
		all = append(all, l.Posts...)
	}
	newest := func(a, b content.Summary) int { return b.PublishedAt.Compare(a.PublishedAt) }
	if len(all) != want || want == 0 || !slices.IsSortedFunc(all, newest) {
		t.Errorf("%v: windows have %d posts, want %d, newest first", f, len(all), want)
	}
	for _, p := range all {
		in := f.Month == "" || content.Month(p.PublishedAt) == f.Month
		if !in || f.Tag != "" && !slices.ContainsFunc(p.Tags, func(t content.Tag) bool { return t.Slug == f.Tag }) {
			t.Errorf("%v: %s is of %v, %v", f, p.Slug, p.PublishedAt, p.Tags)
		}
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	s := sitetest.Open(t, path(t))
	failure := errors.New("no")
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.SaveTag(t.Context(), 0, content.Tag{Slug: "x", Name: "X"}), failure)
	}); !errors.Is(err, failure) {
		t.Errorf("Write = %v; want %v", err, failure)
	}
	if tags, err := s.Tags(t.Context()); err != nil || len(tags) > 0 {
		t.Errorf("tags are %v, %v; want none", tags, err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	s := sitetest.Open(t, path(t))
	for name, call := range map[string]func(ctx context.Context, tx *store.Tx) error{
		"SavePost": func(ctx context.Context, tx *store.Tx) error {
			p := post("x", content.Draft, time.Time{})
			p.ID = 7
			_, err := tx.SavePost(ctx, p)
			return err
		},
		"SavePage": func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SavePage(ctx, content.Page{ID: 7})
			return err
		},
		"SaveTag": func(ctx context.Context, tx *store.Tx) error { return tx.SaveTag(ctx, 7, content.Tag{}) },
		"Delete":  func(ctx context.Context, tx *store.Tx) error { return tx.Delete(ctx, store.Posts, 7) },
		"ID": func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.ID(ctx, store.Pages, "nothing")
			return err
		},
		"Settings": func(ctx context.Context, tx *store.Tx) error { _, err := tx.Settings(ctx); return err },
	} {
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return call(t.Context(), tx) }); !errors.Is(err, content.ErrNotFound) {
			t.Errorf("%s = %v, want %v", name, err, content.ErrNotFound)
		}
	}
}
