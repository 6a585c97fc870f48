package content

import (
	"context"
	"strconv"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// Reader is every read of the public side. An answer depends on the arguments and the database, not on a clock.
// A read names its entities with [Depend]; TestEventsCoverReads checks that none is left out.
// All functions may be called concurrently. What they return must not be changed.
type Reader struct {
	Settings       func(ctx context.Context) (Settings, error)
	Navigation     func(ctx context.Context) ([]NavItem, error)         // of all languages, in order
	PostBySlug     func(ctx context.Context, slug string) (Post, error) // a public post
	PostByID       func(ctx context.Context, id int64) (Post, error)    // a public post
	PageBySlug     func(ctx context.Context, slug string) (Page, error)
	ListPosts      func(ctx context.Context, f Filter, w Window) (List, error) // public posts, newest first
	FeedItems      func(ctx context.Context, lang Lang, n int) ([]Post, error) // the newest n public posts
	TagCounts      func(ctx context.Context, lang Lang) ([]TagCount, error)    // of public posts, by slug
	MonthCounts    func(ctx context.Context, lang Lang) ([]MonthCount, error)  // of public posts, newest first
	Sitemap        func(ctx context.Context) ([]SitemapEntry, error)           // all public posts and pages, by path
	APIKeyByPrefix func(ctx context.Context, prefix string) (APIKey, error)    // also a revoked one
}

// Entity is something that an answer of a [Reader] depends on and that writes change.
type Entity string

// Scope is what to invalidate when the entity has changed.
func (e Entity) Scope() invalidate.Scope { return invalidate.Tag(cache.DefaultTenant, string(e)) }

// Depend says that what is being loaded under ctx depends on the entity.
func Depend(ctx context.Context, e Entity) { cache.Depend(ctx, string(e)) }

// These entities exist once.
const (
	SettingsEntity   Entity = "settings"
	NavigationEntity Entity = "navigation" // of all languages
	SitemapEntity    Entity = "sitemap"    // where posts and pages are, and when they were updated
)

// PostEntity is a public post: its text, its tags, its slug, and its existence.
func PostEntity(id int64) Entity { return Entity("post:" + strconv.FormatInt(id, 10)) }

// SlugEntity is which public post has the slug, if any.
func SlugEntity(slug string) Entity { return Entity("slug:" + slug) }

// PageEntity is the page that has the slug, if any.
func PageEntity(slug string) Entity { return Entity("page:" + slug) }

// PostsEntity is the list of the public posts of the language, as lists show them.
func PostsEntity(lang Lang) Entity { return Entity("posts:" + lang) }

// FeedEntity is the newest public posts of the language with their texts.
func FeedEntity(lang Lang) Entity { return Entity("feed:" + lang) }

// TagsEntity is how many public posts of the language each tag has, and its name.
func TagsEntity(lang Lang) Entity { return Entity("tags:" + lang) }

// MonthsEntity is how many public posts of the language each month has.
func MonthsEntity(lang Lang) Entity { return Entity("months:" + lang) }

// KeyEntity is an API key.
func KeyEntity(prefix string) Entity { return Entity("key:" + prefix) }
