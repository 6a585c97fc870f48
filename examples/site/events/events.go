// Package events says what a write changes. A method of the service names events. [MakePlan]
// decides from them what to invalidate and what to warm up. The transaction of the write
// invalidates; a [Consumer] does what follows the commit.
package events

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/twofold-go/twofold/examples/site/content"
)

// Kind is a type of event.
type Kind string

// The types of events.
const (
	SiteSettingsUpdated Kind = "SiteSettingsUpdated"
	NavigationUpdated   Kind = "NavigationUpdated"
	PostUpserted        Kind = "PostUpserted" // it is public now
	PostDeleted         Kind = "PostDeleted"  // it is no longer public
	PageUpserted        Kind = "PageUpserted"
	PageDeleted         Kind = "PageDeleted"
	APIKeyUpserted      Kind = "ApiKeyUpserted"
	APIKeyRevoked       Kind = "ApiKeyRevoked"
	WarmupOnStartup     Kind = "WarmupOnStartup"
	QueueOverflowed     Kind = "QueueOverflowed" // it stands for all events that the queue had no room for
)

// Event is a change of what the public side shows.
type Event struct {
	Kind   Kind
	Epoch  int64            // of the transaction: later ones have greater epochs. Zero means that it comes from no write
	ID     int64            // of a post or page
	Slug   string           // of a post or page, or its last one if it was deleted
	Before string           // its slug before this write; empty means that it was not public
	Prefix string           // of an API key
	Sets   []content.Entity // the derived sets that the write changes
}

// Entity names what the event is about.
func (e Event) Entity() string { return fmt.Sprint(matrix[e.Kind].about, e.ID, e.Prefix) }

// OfPost reports whether the event is about a post. What the others change, their tables say.
func (e Event) OfPost() bool { return e.Kind == PostUpserted || e.Kind == PostDeleted }

// Key is the idempotency key: a transaction makes at most one event about an entity.
func (e Event) Key() string { return fmt.Sprintf("%s@%d", e.Entity(), e.Epoch) }

// Post returns the event of a post that becomes another one; none if neither is public. The zero
// Summary stands for no post.
func Post(from, to content.Summary) []Event {
	was, is := from.Status == content.Published, to.Status == content.Published
	e := Event{
		Kind: PostUpserted, ID: cmp.Or(to.ID, from.ID), Slug: to.Slug,
		Sets: []content.Entity{content.PostsEntity, content.FeedEntity, content.SitemapEntity},
	}
	if was {
		e.Before = from.Slug
	}
	if !is {
		e.Kind, e.Slug = PostDeleted, e.Before
	}
	if !was && !is {
		return nil
	}
	if was != is || !slices.Equal(from.Tags, to.Tags) {
		e.Sets = append(e.Sets, content.TagsEntity)
	}
	if was != is || content.Month(from.PublishedAt) != content.Month(to.PublishedAt) {
		e.Sets = append(e.Sets, content.MonthsEntity)
	}
	return []Event{e}
}

// Tagged returns the events of public posts whose tag changes its name, its slug or its existence.
func Tagged(posts []content.Summary) (all []Event) {
	for _, p := range posts {
		if p.Status == content.Published {
			all = append(all, Event{Kind: PostUpserted, ID: p.ID, Slug: p.Slug, Sets: []content.Entity{content.PostsEntity, content.FeedEntity, content.TagsEntity}})
		}
	}
	return all
}

// Page returns the event of a page that becomes another one. The zero Page stands for no page.
func Page(from, to content.Page) []Event {
	e := Event{Kind: PageUpserted, ID: cmp.Or(to.ID, from.ID), Slug: to.Slug, Before: from.Slug, Sets: []content.Entity{content.SitemapEntity}}
	if to.ID == 0 {
		e.Kind, e.Slug = PageDeleted, from.Slug
	}
	return []Event{e}
}
