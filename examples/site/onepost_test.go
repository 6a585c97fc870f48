package main

import (
	"context"
	"sync"

	"github.com/twofold-go/twofold/examples/site/content"
)

// onePost is a database with one English post, or none. The post consists only of its title.
type onePost struct {
	mu    sync.Mutex // protects the rest
	title string     // now; empty: there is no post
	stop  gate       // holds the next read at its start and its end
}

func (o *onePost) set(title string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.title = title
}

func (o *onePost) read() (posts []content.Post) {
	o.mu.Lock()
	stop := o.stop
	o.stop = nil
	o.mu.Unlock()
	if stop != nil {
		stop.wait()
		defer stop.wait()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.title == "" {
		return nil
	}
	return []content.Post{{Summary: content.Summary{ID: 1, Slug: "a", Title: o.title, Lang: content.English, Status: content.Published}}}
}

func (o *onePost) reader() content.Reader {
	return content.Reader{
		PostBySlug: o.PostBySlug, PostByID: o.PostByID, FeedItems: o.FeedItems, ListPosts: o.ListPosts,
		PageBySlug:     func(context.Context, string) (p content.Page, err error) { return p, content.ErrNotFound },
		PageByID:       func(context.Context, int64) (p content.Page, err error) { return p, content.ErrNotFound },
		APIKeyByPrefix: func(context.Context, string) (k content.APIKey, err error) { return k, content.ErrNotFound },
		Settings:       func(context.Context) (content.Settings, error) { return twinSettings(hosts[0], 3), nil },
		Navigation:     func(context.Context) ([]content.NavItem, error) { return nil, nil },
		TagCounts:      func(context.Context, content.Lang) ([]content.TagCount, error) { return nil, nil },
		MonthCounts:    func(context.Context, content.Lang) ([]content.MonthCount, error) { return nil, nil },
		Sitemap:        func(context.Context) ([]content.SitemapEntry, error) { return nil, nil },
	}
}

func (o *onePost) PostBySlug(ctx context.Context, slug string) (p content.Post, err error) {
	content.Depend(ctx, content.SlugEntity(slug))
	content.Depend(ctx, content.PostEntity(1))
	for _, p := range o.read() {
		return p, nil
	}
	return p, content.ErrNotFound
}

func (o *onePost) PostByID(ctx context.Context, id int64) (p content.Post, err error) {
	if id != 1 {
		content.Depend(ctx, content.PostEntity(id))
		return p, content.ErrNotFound
	}
	return o.PostBySlug(ctx, "a")
}

func (o *onePost) FeedItems(ctx context.Context, lang content.Lang, _ int) ([]content.Post, error) {
	content.Depend(ctx, content.FeedEntity(lang))
	return o.read(), nil
}

func (o *onePost) ListPosts(ctx context.Context, f content.Filter, _ content.Window) (l content.List, err error) {
	content.Depend(ctx, content.PostsEntity(f.Lang))
	for _, p := range o.read() {
		l.Posts, l.Total = append(l.Posts, p.Summary), l.Total+1
	}
	return l, nil
}
