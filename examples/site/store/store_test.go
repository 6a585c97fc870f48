package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

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
