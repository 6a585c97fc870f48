package content

import (
	"context"
	"strconv"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// Reader holds the reads of the public side. A result depends on the arguments and the database,
// not on a clock. A read names its entities with [Depend]; TestTwins checks that none is
// missing. All functions may be called concurrently. Their results must not be changed.
type Reader struct {
	Settings       func(ctx context.Context) (Settings, error)
	Navigation     func(ctx context.Context) ([]NavItem, error)         // in order
	PostBySlug     func(ctx context.Context, slug string) (Post, error) // a public post
	PostByID       func(ctx context.Context, id int64) (Post, error)    // a public post
	PageBySlug     func(ctx context.Context, slug string) (Page, error)
	PageByID       func(ctx context.Context, id int64) (Page, error)
	ListPosts      func(ctx context.Context, f Filter, w Window) (List, error) // public posts, newest first
	FeedItems      func(ctx context.Context, n int) ([]Post, error)            // the newest n public posts
	TagCounts      func(ctx context.Context) ([]TagCount, error)               // of public posts, by slug
	MonthCounts    func(ctx context.Context) ([]MonthCount, error)             // of public posts, newest first
	Sitemap        func(ctx context.Context) ([]SitemapEntry, error)           // all public posts and pages, by path
	APIKeyByPrefix func(ctx context.Context, prefix string) (APIKey, error)    // even a revoked one
}

// Entity is something that results of a [Reader] depend on and that writes change.
type Entity string

// Scope returns the scope to invalidate when the entity has changed.
func (e Entity) Scope() invalidate.Scope { return invalidate.Tag(cache.DefaultTenant, string(e)) }

// Depend makes the entry that is being loaded under ctx depend on the entity.
func Depend(ctx context.Context, e Entity) { cache.Depend(ctx, string(e)) }

// These entities exist once. Five of them are derived from posts or pages.
const (
	SettingsEntity   Entity = "settings"
	NavigationEntity Entity = "navigation"
	PostsEntity      Entity = "posts"   // the list of the public posts, as summaries
	FeedEntity       Entity = "feed"    // the newest public posts with their texts
	TagsEntity       Entity = "tags"    // the name of each tag, and the number of its public posts
	MonthsEntity     Entity = "months"  // the number of public posts in each month
	SitemapEntity    Entity = "sitemap" // the paths of posts and pages, and when they were updated
)

// PostEntity is a public post: its text, tags, slug and existence.
func PostEntity(id int64) Entity { return Entity("post:" + strconv.FormatInt(id, 10)) }

// SlugEntity is the public post with the slug, if any.
func SlugEntity(slug string) Entity { return Entity("slug:" + slug) }

// PageEntities is the beginning of each PageEntity.
const PageEntities = "page:"

// PageEntity is a page: its text, slug and existence.
func PageEntity(id int64) Entity { return Entity(PageEntities + strconv.FormatInt(id, 10)) }

// PageSlugEntity is the page with the slug, if any.
func PageSlugEntity(slug string) Entity { return Entity("page-slug:" + slug) }

// KeyEntity is an API key.
func KeyEntity(prefix string) Entity { return Entity("key:" + prefix) }
