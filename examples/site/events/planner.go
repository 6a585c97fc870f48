package events

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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

// matrix is the event–action matrix. The last event about a page decides what to warm up.
var matrix = map[Kind]struct {
	about     string                         // the kind of entity
	scopes    func(Event) []invalidate.Scope // of the objects that the event invalidates
	responses bool                           // whether responses depend on these, too
	page      string                         // the path of the page to warm up begins with it; empty means none
	warm      []string                       // besides the pages of the derived sets
}{
	SiteSettingsUpdated: {"settings", always(content.SettingsEntity.Scope()), true, "", everywhere},
	NavigationUpdated:   {"navigation", always(content.NavigationEntity.Scope()), true, "", everywhere},
	PostUpserted:        {"post", placed(content.PostEntity, content.SlugEntity), true, "/posts/", nil},
	PostDeleted:         {"post", placed(content.PostEntity, content.SlugEntity), true, "", nil},
	PageUpserted:        {"page", placed(content.PageEntity, content.PageSlugEntity), true, "/pages/", nil},
	PageDeleted:         {"page", placed(content.PageEntity, content.PageSlugEntity), true, "", nil},
	APIKeyUpserted:      {"key", key, false, "", nil},
	APIKeyRevoked:       {"key", key, false, "", nil},
	WarmupOnStartup:     {"start", always(), false, "", []string{Front}},
	QueueOverflowed:     {"all", always(invalidate.All()), true, "", []string{Front}},
}

// everywhere are the pages that a change of all pages warms up.
var everywhere = func() (paths []string) {
	for _, lang := range content.Langs {
		for set := range derived {
			paths = append(paths, derived[set].page(lang))
		}
	}
	return paths
}()

// MakePlan plans all events. The plan invalidates the union over the events: a post that moves from
// a to b to c changes all three addresses. Only the page to warm up comes from the last event about
// an entity. Neither the order of the events nor repetition matters.
func MakePlan(all []Event) (p Plan) {
	objects, responses := map[string]invalidate.Scope{}, map[string]invalidate.Scope{}
	last := map[string]Event{}
	for _, e := range all {
		row := matrix[e.Kind]
		p.Warm = append(p.Warm, row.warm...)
		for _, lang := range e.langs() {
			for _, set := range e.Sets {
				p.Warm = append(p.Warm, derived[set].page(lang))
			}
		}
		for _, s := range row.scopes(e) {
			if objects[s.String()] = s; row.responses {
				responses[s.String()] = s
			}
		}
		if old, ok := last[e.Entity()]; !ok || later(e, old) > 0 {
			last[e.Entity()] = e
		}
	}
	for _, e := range last {
		if row := matrix[e.Kind]; row.page != "" && e.Slug != "" {
			p.Warm = append(p.Warm, e.Lang.Path(row.page+e.Slug))
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

func always(scopes ...invalidate.Scope) func(Event) []invalidate.Scope {
	return func(Event) []invalidate.Scope { return scopes }
}

func key(e Event) []invalidate.Scope { return []invalidate.Scope{content.KeyEntity(e.Prefix).Scope()} }

// placed returns the scopes of a post or page: its id, its slugs, and its derived sets.
func placed(byID func(int64) content.Entity, bySlug func(string) content.Entity) func(Event) []invalidate.Scope {
	return func(e Event) (all []invalidate.Scope) {
		if e.ID != 0 {
			all = append(all, byID(e.ID).Scope())
		}
		for _, at := range []Place{e.Place, e.Before} {
			if at.Slug != "" {
				all = append(all, bySlug(at.Slug).Scope())
			}
		}
		for _, lang := range e.langs() {
			for _, set := range e.Sets {
				all = append(all, derived[set].entity(lang).Scope())
			}
		}
		return all
	}
}
