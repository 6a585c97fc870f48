package content

import "context"

// Track returns r, but tells record of the entities that each answer depends on:
// before r is asked, as far as they are known by then, so that whoever listens to
// events meanwhile misses none.
func Track(r Reader, record func(ctx context.Context, entities ...Entity)) Reader {
	return tracked{r, record}
}

type tracked struct {
	r      Reader
	record func(ctx context.Context, entities ...Entity)
}

func (t tracked) Settings(ctx context.Context) (Settings, error) {
	t.record(ctx, SettingsEntity)
	return t.r.Settings(ctx)
}

func (t tracked) Navigation(ctx context.Context) ([]NavItem, error) {
	t.record(ctx, NavigationEntity)
	return t.r.Navigation(ctx)
}

func (t tracked) PostBySlug(ctx context.Context, slug string) (Post, error) {
	t.record(ctx, SlugEntity(slug))
	p, err := t.r.PostBySlug(ctx, slug)
	if err == nil {
		t.record(ctx, PostEntity(p.ID))
	}
	return p, err
}

func (t tracked) PostByID(ctx context.Context, id int64) (Post, error) {
	t.record(ctx, PostEntity(id))
	return t.r.PostByID(ctx, id)
}

func (t tracked) PageBySlug(ctx context.Context, slug string) (Page, error) {
	t.record(ctx, PageEntity(slug))
	return t.r.PageBySlug(ctx, slug)
}

func (t tracked) ListPosts(ctx context.Context, f Filter, w Window) (List, error) {
	t.record(ctx, PostsEntity(f.Lang))
	return t.r.ListPosts(ctx, f, w)
}

func (t tracked) FeedItems(ctx context.Context, lang Lang, n int) ([]Post, error) {
	t.record(ctx, FeedEntity(lang))
	return t.r.FeedItems(ctx, lang, n)
}

func (t tracked) TagCounts(ctx context.Context, lang Lang) ([]TagCount, error) {
	t.record(ctx, TagsEntity(lang))
	return t.r.TagCounts(ctx, lang)
}

func (t tracked) MonthCounts(ctx context.Context, lang Lang) ([]MonthCount, error) {
	t.record(ctx, MonthsEntity(lang))
	return t.r.MonthCounts(ctx, lang)
}

func (t tracked) Sitemap(ctx context.Context) ([]SitemapEntry, error) {
	t.record(ctx, SitemapEntity)
	return t.r.Sitemap(ctx)
}

func (t tracked) APIKeyByPrefix(ctx context.Context, prefix string) (APIKey, error) {
	t.record(ctx, KeyEntity(prefix))
	return t.r.APIKeyByPrefix(ctx, prefix)
}
