package service_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/service"
)

// steps is the number of random writes of TestEventsCoverReads.
const steps = 100

// After random writes of all kinds, every changed answer of a Reader depended on an entity
// that the write names. Otherwise the old answer would be served for ever. The dependencies
// of an answer are the tags of a cache entry that is built from it.
func TestEventsCoverReads(t *testing.T) {
	d := newDesk(t)
	seed := uint64(time.Now().UnixNano())
	w := newWriter(d, rand.New(rand.NewPCG(seed, 0)))
	if err := d.UpdateSettings(t.Context(), settings()); err != nil {
		t.Fatal(err)
	}
	d.published()
	before := w.answers()
	for step := 0; step < steps || w.made < steps/4 && step < 10*steps; step++ { // most writes of a run may be refused
		name := w.write()
		var told []content.Entity
		for _, s := range events.MakePlan(d.published()).Objects {
			told = append(told, content.Entity(strings.TrimPrefix(s.Text(), cache.DefaultTenant+":")))
		}
		after := w.answers()
		for read, now := range after {
			old, asked := before[read]
			covered := slices.ContainsFunc(told, func(e content.Entity) bool { return slices.Contains(old.entities, e) })
			if asked && old.value != now.value && !covered {
				t.Errorf("step %d of seed %d, %s: no event names the change of %s\nfrom %s\nto   %s\ntold %v",
					step, seed, name, read, old.value, now.value, told)
			}
		}
		before = after
	}
	if w.made < steps/4 {
		t.Errorf("only %d of %d writes were any good", w.made, steps)
	}
}

// answer is the result of a read, with its dependencies.
type answer struct {
	value    string
	entities []content.Entity
}

func (w *writer) answers() map[string]answer {
	all := map[string]answer{}
	ask := func(name string, read func(ctx context.Context) (any, error)) {
		w.deps, w.asked = nil, w.asked+1
		value, err := w.built.GetOrLoad(w.d.t.Context(), w.asked, func(ctx context.Context, _ int) (string, error) {
			v, err := read(ctx)
			if err != nil && !errors.Is(err, content.ErrNotFound) {
				return "", err
			}
			return fmt.Sprintf("%+v %v", v, err), nil
		})
		if err != nil {
			w.d.t.Error(err)
		}
		all[name] = answer{value, w.deps}
	}
	r := w.d.store
	ask("Settings", func(ctx context.Context) (any, error) { return r.Settings(ctx) })
	ask("Navigation", func(ctx context.Context) (any, error) { return r.Navigation(ctx) })
	ask("Sitemap", func(ctx context.Context) (any, error) { return r.Sitemap(ctx) })
	for _, slug := range slugs {
		ask("PostBySlug "+slug, func(ctx context.Context) (any, error) { return r.PostBySlug(ctx, slug) })
		ask("PageBySlug "+slug, func(ctx context.Context) (any, error) { return r.PageBySlug(ctx, slug) })
	}
	for _, id := range w.ids() {
		ask(fmt.Sprint("PostByID ", id), func(ctx context.Context) (any, error) { return r.PostByID(ctx, id) })
	}
	ask("TagCounts", func(ctx context.Context) (any, error) { return r.TagCounts(ctx) })
	ask("MonthCounts", func(ctx context.Context) (any, error) { return r.MonthCounts(ctx) })
	ask("FeedItems", func(ctx context.Context) (any, error) { return r.FeedItems(ctx, 3) })
	{
		for _, f := range []content.Filter{{}, {Tag: "go"}, {Month: "2026-03"}} {
			ask(fmt.Sprint("ListPosts ", f), func(ctx context.Context) (any, error) { return r.ListPosts(ctx, f, content.Window{Number: 1, Size: 2}) })
		}
	}
	for _, k := range w.keys() {
		ask("APIKeyByPrefix "+k, func(ctx context.Context) (any, error) { return r.APIKeyByPrefix(ctx, k) })
	}
	return all
}

// writer makes random writes, many of which fail.
type writer struct {
	d *desk
	*rand.Rand
	made  int // successful writes
	built cache.Cache[int, string]
	asked int
	deps  []content.Entity // of the answer that was built last
}

func newWriter(d *desk, r *rand.Rand) *writer {
	d.t.Helper()
	w := &writer{d: d, Rand: r}
	tiers, err := cache.Open(cache.TiersConfig{OnStored: func(e cache.Entry) {
		for _, tag := range e.Tags() {
			w.deps = append(w.deps, content.Entity(strings.TrimPrefix(tag, cache.DefaultTenant+":")))
		}
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := tiers.Close(context.Background()); err != nil {
			d.t.Error(err)
		}
	})
	if w.built, err = cache.New(tiers, cache.Config[int, string]{Namespace: "built"}); err != nil {
		d.t.Fatal(err)
	}
	return w
}

var slugs = []string{"a", "b", "c", "d", "e"}

func pick[T any](w *writer, of ...T) T { return of[w.IntN(len(of))] }

func (w *writer) keys() (prefixes []string) {
	all, err := w.d.store.APIKeys(w.d.t.Context())
	if err != nil {
		w.d.t.Error(err)
	}
	for _, k := range all {
		prefixes = append(prefixes, k.Prefix)
	}
	return append(prefixes, "nobody")
}

// ids returns the ids of posts and pages, and one that does not exist.
func (w *writer) ids() []int64 {
	ids := []int64{1000}
	posts, err := w.d.store.AllPosts(w.d.t.Context(), "", content.Window{Number: 1, Size: 100})
	for _, p := range posts.Posts {
		ids = append(ids, p.ID)
	}
	pages, err2 := w.d.store.Pages(w.d.t.Context())
	for _, p := range pages {
		ids = append(ids, p.ID)
	}
	if err := errors.Join(err, err2); err != nil {
		w.d.t.Error(err)
	}
	return ids
}

func (w *writer) write() string {
	ctx, id := w.d.t.Context(), pick(w, w.ids()...)
	w.d.pass(time.Duration(w.IntN(400)) * time.Hour)
	tag := content.Tag{Slug: pick(w, "go", "tea", "web"), Name: pick(w, "X", "Y")}
	page := service.PageInput{Slug: pick(w, slugs...), Title: pick(w, "T", "U"), Body: "b"}
	key := service.KeyInput{Label: pick(w, "L", "M"), Scopes: pick(w, nil, content.Scopes)}
	post, name := w.post(), pick(w, writes...)
	var err error
	switch name {
	case "create post":
		_, err = w.d.SavePost(ctx, 0, post)
	case "update post":
		_, err = w.d.SavePost(ctx, id, post)
	case "publish post":
		_, err = w.d.PublishPost(ctx, id)
	case "publish due":
		_, err = w.d.PublishDue(ctx)
	case "delete post":
		err = w.d.DeletePost(ctx, id)
	case "create page":
		_, err = w.d.SavePage(ctx, 0, page)
	case "update page":
		_, err = w.d.SavePage(ctx, id, page)
	case "delete page":
		err = w.d.DeletePage(ctx, id)
	case "create tag":
		err = w.d.CreateTag(ctx, tag)
	case "update tag":
		err = w.d.UpdateTag(ctx, pick(w, "go", "tea", "web"), tag)
	case "delete tag":
		err = w.d.DeleteTag(ctx, tag.Slug)
	case "navigation":
		err = w.d.UpdateNavigation(ctx, []content.NavItem{{Label: pick(w, "L", "M"), URL: "/"}})
	case "settings":
		s := settings()
		s.PostsPerPage += w.IntN(2)
		err = w.d.UpdateSettings(ctx, s)
	case "create key":
		_, _, err = w.d.CreateAPIKey(ctx, key)
	case "update key":
		_, err = w.d.UpdateAPIKey(ctx, pick(w, w.keys()...), key)
	case "revoke key":
		err = w.d.RevokeAPIKey(ctx, pick(w, w.keys()...))
	}
	if err == nil {
		w.made++
	}
	return strings.TrimSpace(fmt.Sprintln(name, id, post.Slug, err))
}

// writes are all kinds of writes; those of posts are more frequent.
var writes = []string{
	"create post", "create post", "create post", "update post", "update post", "update post", "update post", "publish post",
	"publish due", "delete post", "create page", "update page", "delete page", "create tag", "create tag", "update tag",
	"update tag", "delete tag", "navigation", "settings", "create key", "update key", "revoke key",
}

func (w *writer) post() service.PostInput {
	in := service.PostInput{
		Slug: pick(w, slugs...), Title: pick(w, "T", "U"), Summary: pick(w, "S", ""), Body: pick(w, "b", "c"),
		Status: pick(w, content.Draft, content.Scheduled, content.Published, content.Published),
		Tags:   pick(w, nil, []string{"go"}, []string{"go", "tea"}, []string{"web"}),
	}
	switch in.Status {
	case content.Scheduled:
		in.PublishedAt = w.d.clock().Add(time.Duration(1+w.IntN(300)) * time.Hour)
	case content.Published:
		in.PublishedAt = pick(w, time.Time{}, march, march.AddDate(0, -1, 0))
	case content.Draft:
	}
	return in
}
