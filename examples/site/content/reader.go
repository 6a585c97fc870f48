package content

import "context"

// Reader is every read that the public side of the site makes. The store is one;
// a cache is another, in front of it. It is larger than an interface should be
// because it is a seam rather than a contract for many: here, in one place, is
// all that can be cached.
//
// What a read returns is a function of its arguments and the database: it asks no
// clock. Absence is [ErrNotFound], an answer like any other. Each read says on
// which entities its answer depends, whether it is a value or an absence; [Track]
// says the same to a program, and TestEventsCoverReads checks it.
//
// All methods may be called concurrently. What they return is not to be changed.
type Reader interface {
	// Settings depends on SettingsEntity.
	Settings(ctx context.Context) (Settings, error)

	// Navigation returns the items of all languages, in order. It depends on
	// NavigationEntity.
	Navigation(ctx context.Context) ([]NavItem, error)

	// PostBySlug returns a public post. It depends on the SlugEntity, and on the
	// PostEntity of the post that it returns.
	PostBySlug(ctx context.Context, slug string) (Post, error)

	// PostByID returns a public post. It depends on the PostEntity.
	PostByID(ctx context.Context, id int64) (Post, error)

	// PageBySlug depends on the PageEntity.
	PageBySlug(ctx context.Context, slug string) (Page, error)

	// ListPosts returns public posts, newest first. It depends on the PostsEntity,
	// whatever tag or month it is about. Strangers choose those, and the number of
	// the page: absence and emptiness must not be remembered without bound.
	ListPosts(ctx context.Context, f Filter, w Window) (List, error)

	// FeedItems returns the newest n public posts. It depends on the FeedEntity.
	FeedItems(ctx context.Context, lang Lang, n int) ([]Post, error)

	// TagCounts returns the tags that public posts have, by slug. It depends on
	// the TagsEntity.
	TagCounts(ctx context.Context, lang Lang) ([]TagCount, error)

	// MonthCounts returns the months of public posts, newest first. It depends on
	// the MonthsEntity.
	MonthCounts(ctx context.Context, lang Lang) ([]MonthCount, error)

	// Sitemap returns all public posts and pages, by path. It depends on
	// SitemapEntity.
	Sitemap(ctx context.Context) ([]SitemapEntry, error)

	// APIKeyByPrefix returns a key, also if it is revoked. It depends on the
	// KeyEntity. Strangers choose prefixes, too.
	APIKeyByPrefix(ctx context.Context, prefix string) (APIKey, error)
}
