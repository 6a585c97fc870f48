package service

import (
	"slices"

	"github.com/twofold-go/twofold/examples/site/content"
)

// Entities returns the settings.
func (SettingsUpdated) Entities() []content.Entity {
	return []content.Entity{content.SettingsEntity}
}

// Entities returns the navigation.
func (NavigationUpdated) Entities() []content.Entity {
	return []content.Entity{content.NavigationEntity}
}

// Entities returns the post, and the lists and counts that it is or was in; none,
// if the public sees it neither before nor after.
func (e PostUpserted) Entities() []content.Entity { return moved(e.ID, e.Old, e.New) }

// Entities returns the post, and the lists and counts that it was in.
func (e PostDeleted) Entities() []content.Entity { return moved(e.ID, e.Old, Place{}) }

// Entities returns both slugs.
func (e PageUpserted) Entities() []content.Entity {
	entities := []content.Entity{content.PageEntity(e.Slug), content.SitemapEntity}
	if e.OldSlug != "" && e.OldSlug != e.Slug {
		entities = append(entities, content.PageEntity(e.OldSlug))
	}
	return entities
}

// Entities returns the page.
func (e PageDeleted) Entities() []content.Entity {
	return []content.Entity{content.PageEntity(e.Slug), content.SitemapEntity}
}

// Entities returns all public posts that show the tag, and the lists, feeds and
// counts of their languages.
func (e TagChanged) Entities() (entities []content.Entity) {
	langs := map[content.Lang]bool{}
	for _, p := range e.Posts {
		if p.Public {
			entities = append(entities, content.PostEntity(p.ID))
			langs[p.Lang] = true
		}
	}
	for _, l := range content.Langs {
		if langs[l] {
			entities = append(entities, content.PostsEntity(l), content.FeedEntity(l), content.TagsEntity(l))
		}
	}
	return entities
}

// Entities returns the key.
func (e APIKeyUpserted) Entities() []content.Entity {
	return []content.Entity{content.KeyEntity(e.Prefix)}
}

// Entities returns the key.
func (e APIKeyRevoked) Entities() []content.Entity {
	return []content.Entity{content.KeyEntity(e.Prefix)}
}

// moved returns what a post changes that was at one place and is at another.
func moved(id int64, from, to Place) []content.Entity {
	if !from.Public && !to.Public {
		return nil
	}
	entities := []content.Entity{content.PostEntity(id), content.SitemapEntity}
	appears := from.Lang != to.Lang || from.Public != to.Public
	for _, at := range []Place{from, to} {
		if !at.Public {
			continue
		}
		entities = append(entities, content.SlugEntity(at.Slug), content.PostsEntity(at.Lang), content.FeedEntity(at.Lang))
		if appears || !slices.Equal(from.Tags, to.Tags) {
			entities = append(entities, content.TagsEntity(at.Lang))
		}
		if appears || from.Month != to.Month {
			entities = append(entities, content.MonthsEntity(at.Lang))
		}
	}
	slices.Sort(entities)
	return slices.Compact(entities)
}
