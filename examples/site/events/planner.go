package events

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
)

// Plan is what events require. Each list is sorted and has no duplicates.
type Plan struct {
	Objects, Responses []invalidate.Scope // that each layer must have invalidated
	Warm               []string           // paths, and Front
}

// Front in a plan's Warm stands for the first pages of the site, which only the database knows.
const Front = "*"

// shownAt names a page that shows each derived set.
var shownAt = map[content.Entity]string{
	content.PostsEntity: "/", content.TagsEntity: "/", content.MonthsEntity: "/",
	content.FeedEntity: "/rss.xml", content.SitemapEntity: "/sitemap.xml",
}

// matrix is the event–action matrix. An event also invalidates and warms up its derived sets. The last
// event about a post or page decides what to warm up.
var matrix = map[Kind]struct {
	about    string                                   // the kind of entity
	entities []content.Entity                         // that the event invalidates
	byID     func(int64) content.Entity               // nil means that the event has no id
	byText   func(slugOrPrefix string) content.Entity // nil means that it has neither
	objects  bool                                     // no response depends on these
	page     string                                   // the path of the page to warm up begins with it; empty means none
	warm     []string                                 // further paths
}{
	SiteSettingsUpdated: {about: "settings", entities: []content.Entity{content.SettingsEntity}, warm: []string{"/", "/rss.xml", "/sitemap.xml"}},
	NavigationUpdated:   {about: "navigation", entities: []content.Entity{content.NavigationEntity}, warm: []string{"/", "/rss.xml", "/sitemap.xml"}},
	PostUpserted:        {about: "post", byID: content.PostEntity, byText: content.SlugEntity, page: "/posts/"},
	PostDeleted:         {about: "post", byID: content.PostEntity, byText: content.SlugEntity},
	PageUpserted:        {about: "page", byID: content.PageEntity, byText: content.PageSlugEntity, page: "/pages/"},
	PageDeleted:         {about: "page", byID: content.PageEntity, byText: content.PageSlugEntity},
	APIKeyUpserted:      {about: "key", byText: content.KeyEntity, objects: true},
	APIKeyRevoked:       {about: "key", byText: content.KeyEntity, objects: true},
	WarmupOnStartup:     {about: "start", warm: []string{Front}},
	QueueOverflowed:     {about: "all", warm: []string{Front}},
}

// scopes returns what the event invalidates.
func (e Event) scopes() (all []invalidate.Scope) {
	if e.Kind == QueueOverflowed {
		return []invalidate.Scope{invalidate.All()}
	}
	row := matrix[e.Kind]
	entities := slices.Concat(row.entities, e.Sets)
	if e.ID != 0 && row.byID != nil {
		entities = append(entities, row.byID(e.ID))
	}
	for _, text := range []string{e.Slug, e.Before, e.Prefix} {
		if text != "" && row.byText != nil {
			entities = append(entities, row.byText(text))
		}
	}
	for _, entity := range entities {
		all = append(all, entity.Scope())
	}
	return all
}

// MakePlan plans all events. The plan invalidates the union over the events: a post that moves from
// a to b to c changes all three addresses. Only the page to warm up comes from the last event about
// an entity. Neither the order of the events nor repetition matters.
func MakePlan(all []Event) (p Plan) {
	objects, responses := map[string]invalidate.Scope{}, map[string]invalidate.Scope{}
	last := map[string]Event{}
	for _, e := range all {
		row := matrix[e.Kind]
		p.Warm = append(p.Warm, row.warm...)
		for _, set := range e.Sets {
			p.Warm = append(p.Warm, shownAt[set])
		}
		for _, s := range e.scopes() {
			if objects[s.String()] = s; !row.objects {
				responses[s.String()] = s
			}
		}
		if old, ok := last[e.Entity()]; !ok || later(e, old) > 0 {
			last[e.Entity()] = e
		}
	}
	for _, e := range last {
		if row := matrix[e.Kind]; row.page != "" && e.Slug != "" {
			p.Warm = append(p.Warm, row.page+e.Slug)
		}
	}
	slices.Sort(p.Warm)
	p.Objects, p.Responses, p.Warm = sorted(objects), sorted(responses), slices.Compact(p.Warm)
	return p
}

// later compares events about one entity by epoch. Within one epoch, a deletion comes last, because
// it has no page.
func later(a, b Event) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), -strings.Compare(matrix[a.Kind].page, matrix[b.Kind].page), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
}

func sorted(scopes map[string]invalidate.Scope) (all []invalidate.Scope) {
	for _, text := range slices.Sorted(maps.Keys(scopes)) {
		all = append(all, scopes[text])
	}
	return all
}

// maxHeard is the most posts and pages that Heard reads.
const maxHeard = 100

// Heard returns the events that explain what another process has invalidated. It reads where the posts and pages are now; what is gone has no event.
func Heard(ctx context.Context, fences []invalidate.Fence, read content.Reader) (all []Event) {
	for _, f := range fences[:min(len(fences), maxHeard)] {
		s := f.Scope
		entity := content.Entity(s.Text())
		_, text, _ := strings.Cut(s.Text(), ":")
		id, _ := strconv.ParseInt(text, 10, 64)
		_, derived := shownAt[entity]
		switch {
		case s == invalidate.All():
			all = append(all, Event{Kind: QueueOverflowed})
		case entity == content.SettingsEntity:
			all = append(all, Event{Kind: SiteSettingsUpdated})
		case entity == content.NavigationEntity:
			all = append(all, Event{Kind: NavigationUpdated})
		case derived:
			all = append(all, Event{Kind: PostUpserted, Sets: []content.Entity{entity}})
		case entity == content.PostEntity(id):
			if p, err := read.PostByID(ctx, id); err == nil {
				all = append(all, Event{Kind: PostUpserted, ID: id, Slug: p.Slug})
			}
		case entity == content.PageEntity(id):
			if p, err := read.PageByID(ctx, id); err == nil {
				all = append(all, Event{Kind: PageUpserted, ID: id, Slug: p.Slug})
			}
		}
	}
	return all
}
