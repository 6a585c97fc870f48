package content

import (
	"strconv"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// Entity is something that answers depend on and that events change: the words in
// which [Reader] and the service talk about each other. An answer of a Reader
// changes only if one of its entities does.
type Entity string

// Scope is what to invalidate when the entity has changed.
func (e Entity) Scope() invalidate.Scope { return invalidate.Tag(cache.DefaultTenant, string(e)) }

// These entities there are once.
const (
	SettingsEntity   Entity = "settings"
	NavigationEntity Entity = "navigation" // of all languages
	SitemapEntity    Entity = "sitemap"    // where posts and pages are, and when they were updated
)

// PostEntity is a public post: its text, its tags and their names, its slug, and
// whether there is one of that id.
func PostEntity(id int64) Entity { return Entity("post:" + strconv.FormatInt(id, 10)) }

// SlugEntity is which public post has the slug, if any.
func SlugEntity(slug string) Entity { return Entity("slug:" + slug) }

// PageEntity is the page that has the slug, if any.
func PageEntity(slug string) Entity { return Entity("page:" + slug) }

// PostsEntity is which public posts of the language there are, in which order, and
// what lists show of them, their tags' names included.
func PostsEntity(lang Lang) Entity { return Entity("posts:" + lang) }

// FeedEntity is the newest public posts of the language with their texts.
func FeedEntity(lang Lang) Entity { return Entity("feed:" + lang) }

// TagsEntity is how many public posts of the language each tag has, and its name.
func TagsEntity(lang Lang) Entity { return Entity("tags:" + lang) }

// MonthsEntity is how many public posts of the language each month has.
func MonthsEntity(lang Lang) Entity { return Entity("months:" + lang) }

// KeyEntity is an API key.
func KeyEntity(prefix string) Entity { return Entity("key:" + prefix) }
