// Package events says what a write changes. A method of the service names events. [MakePlan]
// decides from them what to invalidate and what to warm up. The transaction of the write
// invalidates; a [Consumer] does what follows the commit.
package events

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
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
	Epoch  int64  // of the transaction: later ones have greater epochs. Zero means that it comes from no write
	ID     int64  // of a post or page
	Prefix string // of an API key
	Place         // of a post or page, or its last one if it was deleted
	Before Place  // where it was before this write; the zero Place: nowhere
	Sets   []Set  // the derived sets that the write changes, in the languages of both places
}

// Place is where a post or page is found. The zero Place is nowhere.
type Place struct {
	Lang content.Lang
	Slug string
}

// Entity names what the event is about.
func (e Event) Entity() string { return fmt.Sprint(matrix[e.Kind].about, e.ID, e.Prefix) }

// OfPost reports whether the event is about a post. What the others change, their tables say.
func (e Event) OfPost() bool { return e.Kind == PostUpserted || e.Kind == PostDeleted }

// Key is the idempotency key: a transaction makes at most one event about an entity.
func (e Event) Key() string { return fmt.Sprintf("%s@%d", e.Entity(), e.Epoch) }

// Set is a set that is derived from posts or pages, in one language or, of a sitemap, in all.
type Set string

// The derived sets.
const (
	PostsIndex    Set = "PostsIndex"
	PostAggTags   Set = "PostAggTags"
	PostAggMonths Set = "PostAggMonths"
	Feed          Set = "Feed"
	Sitemap       Set = "Sitemap"
)

// derived lists the sets: what depends on each, and a page that shows it.
var derived = map[Set]struct {
	entity func(content.Lang) content.Entity
	page   func(content.Lang) string
}{
	PostsIndex:    {content.PostsEntity, func(l content.Lang) string { return l.Path("/") }},
	PostAggTags:   {content.TagsEntity, func(l content.Lang) string { return l.Path("/") }},
	PostAggMonths: {content.MonthsEntity, func(l content.Lang) string { return l.Path("/") }},
	Feed:          {content.FeedEntity, func(l content.Lang) string { return l.Path("/rss.xml") }},
	Sitemap:       {func(content.Lang) content.Entity { return content.SitemapEntity }, func(content.Lang) string { return "/sitemap.xml" }},
}

func (e Event) langs() []content.Lang {
	if e.Before.Lang == "" || e.Before.Lang == e.Lang {
		return []content.Lang{e.Lang}
	}
	return []content.Lang{e.Lang, e.Before.Lang}
}

// Post returns the event of a post that becomes another one; none if neither is public. The zero
// Summary stands for no post.
func Post(from, to content.Summary) []Event {
	was, is := from.Status == content.Published, to.Status == content.Published
	e := Event{Kind: PostUpserted, ID: cmp.Or(to.ID, from.ID), Place: Place{to.Lang, to.Slug}, Sets: []Set{PostsIndex, Feed, Sitemap}}
	if was {
		e.Before = Place{from.Lang, from.Slug}
	}
	if !is {
		e.Kind, e.Place = PostDeleted, e.Before
	}
	if !was && !is {
		return nil
	}
	moved := was != is || from.Lang != to.Lang
	if moved || !slices.Equal(from.Tags, to.Tags) {
		e.Sets = append(e.Sets, PostAggTags)
	}
	if moved || content.Month(from.PublishedAt) != content.Month(to.PublishedAt) {
		e.Sets = append(e.Sets, PostAggMonths)
	}
	return []Event{e}
}

// Tagged returns the events of public posts whose tag changes its name, its slug or its existence.
func Tagged(posts []content.Summary) (all []Event) {
	for _, p := range posts {
		if p.Status == content.Published {
			all = append(all, Event{Kind: PostUpserted, ID: p.ID, Place: Place{p.Lang, p.Slug}, Sets: []Set{PostsIndex, Feed, PostAggTags}})
		}
	}
	return all
}

// Page returns the event of a page that becomes another one. The zero Page stands for no page.
func Page(from, to content.Page) []Event {
	e := Event{Kind: PageUpserted, ID: cmp.Or(to.ID, from.ID), Place: Place{to.Lang, to.Slug}, Sets: []Set{Sitemap}}
	if e.Before = (Place{from.Lang, from.Slug}); to.ID == 0 {
		e.Kind, e.Place = PageDeleted, e.Before
	}
	return []Event{e}
}

// maxHeard is the most posts and pages that Heard reads.
const maxHeard = 100

// Heard returns the events that explain what another process has invalidated. It reads where the posts and pages are now; what is gone has no event.
func Heard(ctx context.Context, fences []invalidate.Fence, read content.Reader) (all []Event) {
	candidates := []Event{{Kind: SiteSettingsUpdated}, {Kind: NavigationUpdated}, {Kind: QueueOverflowed}}
	for _, lang := range content.Langs {
		for set := range derived {
			candidates = append(candidates, Event{Kind: PostUpserted, Place: Place{Lang: lang}, Sets: []Set{set}})
		}
	}
	for _, f := range fences[:min(len(fences), maxHeard)] {
		_, text, _ := strings.Cut(f.Scope.Text(), ":")
		id, _ := strconv.ParseInt(text, 10, 64)
		switch e := content.Entity(f.Scope.Text()); {
		case e == content.PostEntity(id):
			if p, err := read.PostByID(ctx, id); err == nil {
				candidates = append(candidates, Event{Kind: PostUpserted, ID: id, Place: Place{p.Lang, p.Slug}})
			}
		case e == content.PageEntity(id):
			if p, err := read.PageByID(ctx, id); err == nil {
				candidates = append(candidates, Event{Kind: PageUpserted, ID: id, Place: Place{p.Lang, p.Slug}})
			}
		}
	}
	for _, e := range candidates {
		if slices.ContainsFunc(matrix[e.Kind].scopes(e), func(s invalidate.Scope) bool { return slices.Contains(fences, invalidate.Fence{Scope: s}) }) {
			all = append(all, e)
		}
	}
	return all
}
