package service

import "github.com/twofold-go/twofold/examples/site/content"

// Event is something that a write has changed: one of the types below.
type Event interface {
	// Entities returns everything that the event has changed in what the public
	// sees, and as little else as the event can tell.
	Entities() []content.Entity
}

// Place is where a post was or is to be found.
type Place struct {
	Slug   string
	Lang   content.Lang
	Public bool          // if not, no list, feed, count or page shows it
	Month  content.Month // in which it was published; zero unless Public
	Tags   []string      // slugs, in order
}

// placeOf returns where the post is.
func placeOf(p content.Post) Place {
	at := Place{Slug: p.Slug, Lang: p.Lang, Public: p.Status == content.Published, Tags: p.TagSlugs()}
	if at.Public {
		at.Month = content.MonthOf(p.PublishedAt)
	}
	return at
}

// SettingsUpdated says that the settings were replaced.
type SettingsUpdated struct{}

// NavigationUpdated says that the navigation was replaced.
type NavigationUpdated struct{}

// PostUpserted is a post that was created (Old is the zero Place), updated or
// published.
type PostUpserted struct {
	ID       int64
	Old, New Place
}

// PostDeleted is a post that is gone.
type PostDeleted struct {
	ID  int64
	Old Place
}

// PageUpserted is a page that was created (OldSlug is empty) or updated.
type PageUpserted struct {
	ID            int64
	OldSlug, Slug string
}

// PageDeleted is a page that is gone.
type PageDeleted struct {
	ID   int64
	Slug string
}

// TagChanged is a tag that was created (OldSlug is empty), renamed or deleted
// (Slug is empty). Posts show the names of their tags, so it reaches them, too.
type TagChanged struct {
	OldSlug, Slug string
	Posts         []TaggedPost // that have or had the tag, public or not
}

// TaggedPost is a post that a [TagChanged] is about.
type TaggedPost struct {
	ID     int64
	Slug   string
	Lang   content.Lang
	Public bool
}

// APIKeyUpserted is a key that was created, or given another label or other scopes.
type APIKeyUpserted struct{ Prefix string }

// APIKeyRevoked is a key that is good for nothing any more.
type APIKeyRevoked struct{ Prefix string }
