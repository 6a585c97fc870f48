package objects_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/objects"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier/local"
)

const hotPages = 10

// layer is a cache and its tiers.
type layer struct {
	content.Reader
	present, absent *cache.Tiers
}

// newCache returns a cache with maxAbsent bytes for absences.
func newCache(t *testing.T, r content.Reader, maxAbsent int64) layer {
	t.Helper()
	open := func(maxBytes int64) *cache.Tiers {
		tiers, err := cache.Open(cache.TiersConfig{
			Local: local.New(local.Config{MaxBytes: maxBytes}), Logger: slog.New(slog.DiscardHandler), OnStored: func(cache.Entry) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := tiers.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return tiers
	}
	l := layer{present: open(16 << 20), absent: open(maxAbsent)}
	var err error
	if l.Reader, err = objects.New(r, l.present, l.absent, hotPages); err != nil {
		t.Fatal(err)
	}
	return l
}

func drop(t *testing.T, l layer, s invalidate.Scope) {
	t.Helper()
	if err := errors.Join(l.present.Invalidate(t.Context(), s), l.absent.Invalidate(t.Context(), s)); err != nil {
		t.Fatal(err)
	}
}

// read is a read of a Reader, with its dependencies.
type read struct {
	name    string
	depends content.Entity
	do      func(ctx context.Context, r content.Reader) (any, error)
}

// reads are reads of each kind, of existing and of absent things.
var reads = []read{
	{"settings", "settings", func(ctx context.Context, r content.Reader) (any, error) { return r.Settings(ctx) }},
	{"navigation", "navigation", func(ctx context.Context, r content.Reader) (any, error) { return r.Navigation(ctx) }},
	{"sitemap", "sitemap", func(ctx context.Context, r content.Reader) (any, error) { return r.Sitemap(ctx) }},
	{"tags", "tags", func(ctx context.Context, r content.Reader) (any, error) { return r.TagCounts(ctx) }},
	{"months", "months", func(ctx context.Context, r content.Reader) (any, error) { return r.MonthCounts(ctx) }},
	{"feed", "feed", func(ctx context.Context, r content.Reader) (any, error) { return r.FeedItems(ctx, 3) }},
	{"list", "posts", list(content.Filter{}, 2)},
	{"last list that is kept", "posts", list(content.Filter{}, hotPages)},
	{"post by slug", "post:1", func(ctx context.Context, r content.Reader) (any, error) {
		return r.PostBySlug(ctx, "the-cost-of-a-miss")
	}},
	{"post by id", "post:1", func(ctx context.Context, r content.Reader) (any, error) { return r.PostByID(ctx, 1) }},
	{"page", "page:1", func(ctx context.Context, r content.Reader) (any, error) { return r.PageBySlug(ctx, "about") }},
	{"key", "key:testkey0", func(ctx context.Context, r content.Reader) (any, error) { return r.APIKeyByPrefix(ctx, "testkey0") }},
	{"no post by slug", "slug:nope", func(ctx context.Context, r content.Reader) (any, error) { return r.PostBySlug(ctx, "nope") }},
	{"no post by id", "post:9999", func(ctx context.Context, r content.Reader) (any, error) { return r.PostByID(ctx, 9999) }},
	{"no page", "page-slug:nope", func(ctx context.Context, r content.Reader) (any, error) { return r.PageBySlug(ctx, "nope") }},
	{"page by id", "page:1", func(ctx context.Context, r content.Reader) (any, error) { return r.PageByID(ctx, 1) }},
	{"no page by id", "page:9999", func(ctx context.Context, r content.Reader) (any, error) { return r.PageByID(ctx, 9999) }},
	{"no key", "key:nope", func(ctx context.Context, r content.Reader) (any, error) { return r.APIKeyByPrefix(ctx, "nope") }},
}

func list(f content.Filter, number int) func(ctx context.Context, r content.Reader) (any, error) {
	return func(ctx context.Context, r content.Reader) (any, error) {
		return r.ListPosts(ctx, f, content.Window{Number: number, Size: 2})
	}
}

// Every answer equals the store's. The second read costs no query, unless exactly its
// dependencies were invalidated in between.
func TestReads(t *testing.T) {
	s := sitetest.Seeded(t)
	c := newCache(t, s.Reader(), 256<<10)
	ask := func(r read, queries bool) {
		t.Helper()
		want, wantErr := r.do(t.Context(), s.Reader())
		before := s.Queries()
		got, err := r.do(t.Context(), c.Reader)
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, wantErr) {
			t.Errorf("%s: %v, %s", r.name, err, diff)
		}
		if n := s.Queries() - before; (n > 0) != queries {
			t.Errorf("%s took %d queries", r.name, n)
		}
	}
	for _, r := range reads {
		ask(r, true)
		ask(r, false)
	}
	for _, r := range reads {
		drop(t, c, r.depends.Scope())
		for _, other := range reads {
			ask(other, other.depends == r.depends)
		}
	}
	drop(t, c, invalidate.All())
	for _, r := range reads {
		ask(r, true)
	}
}

// Of a list, only the first pages without a filter are cached.
func TestHotLists(t *testing.T) {
	s := sitetest.Seeded(t)
	c := newCache(t, s.Reader(), 256<<10)
	for name, read := range map[string]func(ctx context.Context, r content.Reader) (any, error){
		"a tag":        list(content.Filter{Tag: "caching"}, 1),
		"a month":      list(content.Filter{Month: "2024-05"}, 1),
		"a late page":  list(content.Filter{}, hotPages+1),
		"no page":      list(content.Filter{}, 0),
		"another page": list(content.Filter{}, -7),
	} {
		for range 2 {
			before := s.Queries()
			if _, err := read(t.Context(), c.Reader); err != nil {
				t.Fatal(err)
			}
			if s.Queries() == before {
				t.Errorf("%s was kept", name)
			}
		}
	}
}

// Guesses use only their own few bytes and evict no value.
func TestGuessesAreBounded(t *testing.T) {
	s := sitetest.Seeded(t)
	const limit = 32 << 10
	c := newCache(t, s.Reader(), limit)
	ctx := t.Context()
	if _, err := c.APIKeyByPrefix(ctx, "testkey0"); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		guess := "guess" + strconv.Itoa(i)
		_, err1 := c.APIKeyByPrefix(ctx, guess)
		_, err2 := c.PostBySlug(ctx, guess)
		_, err3 := c.PostByID(ctx, int64(5000+i))
		_, err4 := c.PageBySlug(ctx, guess)
		for _, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, content.ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	present, absent := c.present.Stats(), c.absent.Stats()
	if present.Local.Entries != 1 || absent.Local.Bytes > limit || absent.Total.Evictions.Entries == 0 {
		t.Errorf("%d values; %d bytes of absences, and %d evictions",
			present.Local.Entries, absent.Local.Bytes, absent.Total.Evictions.Entries)
	}
	before := s.Queries()
	if _, err := c.APIKeyByPrefix(ctx, "testkey0"); err != nil || s.Queries() != before {
		t.Errorf("the key that there is was pushed out: %v", err)
	}
}

// A value or an absence that was read before an invalidation is not stored after it.
func TestLateAnswerIsNotKept(t *testing.T) {
	for _, slug := range []string{"about", "new"} {
		t.Run(slug, func(t *testing.T) {
			s, read, on := sitetest.Seeded(t), make(chan struct{}), make(chan struct{})
			stop := sync.OnceFunc(func() {
				close(read)
				<-on
			})
			r := s.Reader()
			r.PageBySlug = func(ctx context.Context, slug string) (content.Page, error) {
				defer stop() // the first time
				return s.PageBySlug(ctx, slug)
			}
			c := newCache(t, r, 256<<10)
			var wg sync.WaitGroup
			defer wg.Wait()
			goOn := sync.OnceFunc(func() { close(on) })
			defer goOn()
			wg.Go(func() {
				if _, err := c.PageBySlug(t.Context(), slug); err != nil && !errors.Is(err, content.ErrNotFound) {
					t.Error(err)
				}
			})
			<-read // the old answer has been read
			write(t, s, slug)
			drop(t, c, content.PageSlugEntity(slug).Scope())
			goOn()
			wg.Wait()
			for range 2 {
				if p, err := c.PageBySlug(t.Context(), slug); err != nil || p.Title != "Changed" {
					t.Errorf("the page is %q, %v", p.Title, err)
				}
			}
		})
	}
}

func write(t *testing.T, s *store.Store, slug string) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		p, err := tx.PageBySlug(t.Context(), slug)
		if errors.Is(err, content.ErrNotFound) {
			p, err = content.Page{Slug: slug, Body: "b"}, nil
		}
		if err != nil {
			return err
		}
		p.Title, p.UpdatedAt = "Changed", sitetest.Now()
		_, err = tx.SavePage(t.Context(), p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A result inherits the dependencies of its parts, and is not stored if a part is an absence.
func TestInheritance(t *testing.T) {
	c := newCache(t, sitetest.Seeded(t).Reader(), 256<<10)
	built := index.New(index.Config{})
	tiers, err := cache.Open(cache.TiersConfig{Logger: slog.New(slog.DiscardHandler), OnStored: built.Stored, OnRemoved: built.Removed})
	if err != nil {
		t.Fatal(err)
	}
	defer tiers.Close(t.Context())
	pages, err := cache.New(tiers, cache.Config[string, string]{Namespace: "pages"})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range reads {
		for range 2 { // once when it is loaded, once when it is cached
			_, err := pages.GetOrLoad(t.Context(), fmt.Sprint(i), func(ctx context.Context, _ string) (string, error) {
				_, err := r.do(ctx, c.Reader)
				if errors.Is(err, content.ErrNotFound) {
					err = nil
				}
				return "a page", err
			}, cache.MaxAge(0))
			if err != nil {
				t.Fatal(err)
			}
			l, _ := r.do(t.Context(), c.Reader)
			list, isList := l.(content.List)
			stored := r.name[:3] != "no " && (!isList || len(list.Posts) > 0)
			tags := built.TagsOf(cache.DefaultTenant + ":pages:" + fmt.Sprint(i))
			if got := slices.Contains(tags, cache.DefaultTenant+":"+string(r.depends)); got != stored {
				t.Errorf("a page of %s depends on %v", r.name, tags)
			}
		}
	}
}
