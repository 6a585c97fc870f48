// Package objects is the cache of what the site is made of: a [content.Reader] in
// front of the store, shared by the pages, the feeds and the API. Nothing in it
// ends by time. An answer is kept until an entity that it depends on is
// invalidated, or memory is needed for another.
//
// What is kept, and what is not, because strangers choose it and could ask for
// as many as they like:
//
//   - settings, navigation, the sitemap, and for each language the counts of tags
//     and months and the items of feeds: always.
//   - posts by slug and by id, pages by slug, API keys by prefix: those that there
//     are. That there is no such thing is remembered too, as otherwise each guess
//     would be a query, but apart from the rest, in a tier of a few hundred
//     kilobytes that guesses can only push each other out of.
//   - lists of posts: the first pages of the lists without a filter. The lists of
//     a tag or a month are read from the store, and kept as the pages that show
//     them.
//
// An absence or an empty list also keeps what is being built from it from being
// stored: a page for a slug that nobody has is not worth remembering either.
package objects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
)

// HotPages is how many pages of a list without a filter are kept.
const HotPages = 10

// What a Config means by zero.
const (
	DefaultMaxBytes       = 16 << 20
	DefaultMaxAbsentBytes = 256 << 10
)

// Config says how a cache works. Its zero value is useful.
type Config struct {
	MaxBytes       int64        // of what there is. 0: DefaultMaxBytes
	MaxAbsentBytes int64        // of what there is not. 0: DefaultMaxAbsentBytes
	Logger         *slog.Logger // Nil: slog.Default

	// Log returns the log that a layer of the cache follows. The log must tell of a
	// record only when below has returned nil: the layer is made from the one below.
	// The lowest layer has a nil below. A nil Log leaves invalidations to Invalidate.
	Log func(layer string, below func(context.Context) error) invalidate.Log

	// Meters returns where a layer of the cache makes its instruments. Nil: the global
	// provider of OpenTelemetry.
	Meters func(layer string) (metric.MeterProvider, error)
}

// Cache is a [content.Reader] that remembers what another one answered. Make one
// with [New]. All methods may be called concurrently.
type Cache struct {
	present, absent *cache.Tiers
	index           *index.Index

	settings   cache.Cache[string, content.Settings]
	navigation cache.Cache[string, []content.NavItem]
	sitemap    cache.Cache[string, []content.SitemapEntry]
	tags       cache.Cache[content.Lang, []content.TagCount]
	months     cache.Cache[content.Lang, []content.MonthCount]
	feeds      cache.Cache[string, []content.Post]
	lists      cache.Cache[string, content.List]
	slugs      lookup[string, content.Post]
	ids        lookup[int64, content.Post]
	pages      lookup[string, content.Page]
	keys       lookup[string, content.APIKey]

	source content.Reader // tells of what its answers depend on
}

var _ content.Reader = (*Cache)(nil)

// New returns a cache in front of r.
func New(r content.Reader, cfg Config) (*Cache, error) {
	c := &Cache{index: index.New(index.Config{}), source: content.Track(r, Depend)}
	if err := c.open(cfg); err != nil {
		return nil, errors.Join(err, c.Close(context.Background()))
	}
	return c, nil
}

func (c *Cache) open(cfg Config) (err error) {
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if cfg.MaxAbsentBytes == 0 {
		cfg.MaxAbsentBytes = DefaultMaxAbsentBytes
	}
	tc := cache.TiersConfig{Logger: cfg.Logger, OnStored: c.index.Stored, OnRemoved: c.index.Removed}
	tc.Local = local.New(local.Config{MaxBytes: cfg.MaxBytes})
	if c.present, err = cfg.tiers(tc, "objects", nil); err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	tc.Local = local.New(local.Config{MaxBytes: cfg.MaxAbsentBytes})
	tc.OnStored, tc.OnRemoved = func(cache.Entry) {}, nil // so that what is built from absences knows the texts of their tags
	if c.absent, err = cfg.tiers(tc, "absences", c.present.Ready); err != nil {
		return fmt.Errorf("objects: absences: %w", err)
	}
	b := &builder{c: c}
	c.settings = kept(b, "settings", func(ctx context.Context, _ string) (content.Settings, error) { return c.source.Settings(ctx) })
	c.navigation = kept(b, "navigation", func(ctx context.Context, _ string) ([]content.NavItem, error) { return c.source.Navigation(ctx) })
	c.sitemap = kept(b, "sitemap", func(ctx context.Context, _ string) ([]content.SitemapEntry, error) { return c.source.Sitemap(ctx) })
	c.tags = kept(b, "tags", c.source.TagCounts)
	c.months = kept(b, "months", c.source.MonthCounts)
	c.feeds = kept[string, []content.Post](b, "feeds", nil)
	c.lists = kept[string, content.List](b, "lists", nil)
	c.slugs = guessed(b, "slugs", c.source.PostBySlug)
	c.ids = guessed(b, "posts", c.source.PostByID)
	c.pages = guessed(b, "pages", c.source.PageBySlug)
	c.keys = guessed(b, "keys", c.source.APIKeyByPrefix)
	return b.err
}

// tiers opens the tiers of a layer, with its log and its instruments.
func (cfg *Config) tiers(tc cache.TiersConfig, layer string, below func(context.Context) error) (*cache.Tiers, error) {
	if cfg.Log != nil {
		tc.Log = cfg.Log(layer, below)
	}
	if cfg.Meters != nil {
		var err error
		if tc.MeterProvider, err = cfg.Meters(layer); err != nil {
			return nil, err
		}
	}
	return cache.Open(tc)
}

// Depend says that what is being loaded depends on the entities. It is for
// [content.Track].
func Depend(ctx context.Context, entities ...content.Entity) {
	for _, e := range entities {
		cache.Depend(ctx, string(e))
	}
}

// only is the key of what there is but one of.
const only = "-"

// Settings returns the settings.
func (c *Cache) Settings(ctx context.Context) (content.Settings, error) {
	return translate(c.settings.Get(ctx, only))
}

// Navigation returns the navigation.
func (c *Cache) Navigation(ctx context.Context) ([]content.NavItem, error) {
	return translate(c.navigation.Get(ctx, only))
}

// Sitemap returns what the sitemap names.
func (c *Cache) Sitemap(ctx context.Context) ([]content.SitemapEntry, error) {
	return translate(c.sitemap.Get(ctx, only))
}

// TagCounts returns the tags of a language.
func (c *Cache) TagCounts(ctx context.Context, lang content.Lang) ([]content.TagCount, error) {
	return translate(c.tags.Get(ctx, lang))
}

// MonthCounts returns the months of a language.
func (c *Cache) MonthCounts(ctx context.Context, lang content.Lang) ([]content.MonthCount, error) {
	return translate(c.months.Get(ctx, lang))
}

// FeedItems returns the newest posts of a language.
func (c *Cache) FeedItems(ctx context.Context, lang content.Lang, n int) ([]content.Post, error) {
	return translate(c.feeds.GetOrLoad(ctx, string(lang)+"/"+strconv.Itoa(n), func(ctx context.Context, _ string) ([]content.Post, error) {
		return c.source.FeedItems(ctx, lang, n)
	}))
}

// ListPosts returns a window of a list.
func (c *Cache) ListPosts(ctx context.Context, f content.Filter, w content.Window) (l content.List, err error) {
	if f == (content.Filter{Lang: f.Lang}) && w.Number >= 1 && w.Number <= HotPages {
		key := string(f.Lang) + "/" + strconv.Itoa(w.Number) + "/" + strconv.Itoa(w.Size)
		l, err = translate(c.lists.GetOrLoad(ctx, key, func(ctx context.Context, _ string) (content.List, error) {
			return c.source.ListPosts(ctx, f, w)
		}))
	} else {
		l, err = c.source.ListPosts(ctx, f, w)
	}
	if err == nil && len(l.Posts) == 0 {
		cache.Filling(ctx).NoStore()
	}
	return l, err
}

// PostBySlug returns a post.
func (c *Cache) PostBySlug(ctx context.Context, slug string) (content.Post, error) {
	return c.slugs.get(ctx, slug)
}

// PostByID returns a post.
func (c *Cache) PostByID(ctx context.Context, id int64) (content.Post, error) {
	return c.ids.get(ctx, id)
}

// PageBySlug returns a page.
func (c *Cache) PageBySlug(ctx context.Context, slug string) (content.Page, error) {
	return c.pages.get(ctx, slug)
}

// APIKeyByPrefix returns a key.
func (c *Cache) APIKeyByPrefix(ctx context.Context, prefix string) (content.APIKey, error) {
	return c.keys.get(ctx, prefix)
}

// Invalidate makes everything untrue that depends on one of the entities;
// everything there is, when all is set. It takes what there is first: absences are
// built from that.
func (c *Cache) Invalidate(ctx context.Context, entities []string, all bool) error {
	scopes := Scopes(entities, all)
	if len(scopes) == 0 {
		return nil
	}
	return errors.Join(c.present.Invalidate(ctx, scopes...), c.absent.Invalidate(ctx, scopes...))
}

// Scopes returns what to invalidate when the entities have changed, or everything.
func Scopes(entities []string, all bool) []invalidate.Scope {
	if all {
		return []invalidate.Scope{invalidate.All()}
	}
	scopes := make([]invalidate.Scope, len(entities))
	for i, e := range entities {
		scopes[i] = invalidate.Tag(cache.DefaultTenant, e)
	}
	return scopes
}

// Ready waits until the cache knows what was invalidated in its log before the call.
func (c *Cache) Ready(ctx context.Context) error { return c.absent.Ready(ctx) }

// Index knows what is kept, and what that depends on.
func (c *Cache) Index() *index.Index { return c.index }

// Tiers are where it is kept: what there is, and what there is not.
func (c *Cache) Tiers() (present, absent *cache.Tiers) { return c.present, c.absent }

// Stats returns the numbers of what there is and of what there is not.
func (c *Cache) Stats() (present, absent cache.Stats) { return c.present.Stats(), c.absent.Stats() }

// Close ends the cache. Loads under way are waited for until ctx ends.
func (c *Cache) Close(ctx context.Context) error {
	var errs []error
	for _, t := range []*cache.Tiers{c.absent, c.present} {
		if t != nil {
			errs = append(errs, t.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

// forever is the policy of everything here: events end it, not time.
var forever = policy.Patch{TTL: new(policy.Forever), NegativeTTL: new(time.Duration(0)), Jitter: new(0.0)}
