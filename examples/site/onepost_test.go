package main

import (
	"context"
	"sync"

	"github.com/twofold-go/twofold/examples/site/content"
)

// onePost is a content.Reader with one post in English, or none, whose title is
// all there is to know about it.
type onePost struct {
	content.Reader // of nothing else

	mu    sync.Mutex // protects the rest
	title string     // at present; empty: there is no post
	stop  gate       // holds the next read before and after
}

func (o *onePost) set(title string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.title = title
}

// read reads the database, as it is at one moment.
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

func (o *onePost) PostBySlug(context.Context, string) (p content.Post, err error) {
	for _, p := range o.read() {
		return p, nil
	}
	return p, content.ErrNotFound
}

func (o *onePost) PostByID(ctx context.Context, id int64) (p content.Post, err error) {
	if id != 1 {
		return p, content.ErrNotFound
	}
	return o.PostBySlug(ctx, "a")
}

func (o *onePost) PageBySlug(context.Context, string) (p content.Page, err error) {
	return p, content.ErrNotFound
}

func (o *onePost) APIKeyByPrefix(context.Context, string) (k content.APIKey, err error) {
	return k, content.ErrNotFound
}

func (o *onePost) FeedItems(context.Context, content.Lang, int) ([]content.Post, error) {
	return o.read(), nil
}

func (o *onePost) ListPosts(context.Context, content.Filter, content.Window) (l content.List, err error) {
	for _, p := range o.read() {
		l.Posts, l.Total = append(l.Posts, p.Summary), l.Total+1
	}
	return l, nil
}

func (o *onePost) Settings(context.Context) (content.Settings, error) {
	return twinSettings(hosts[0], 3), nil
}

func (o *onePost) Navigation(context.Context) ([]content.NavItem, error) { return nil, nil }

func (o *onePost) TagCounts(context.Context, content.Lang) ([]content.TagCount, error) {
	return nil, nil
}

func (o *onePost) MonthCounts(context.Context, content.Lang) ([]content.MonthCount, error) {
	return nil, nil
}
