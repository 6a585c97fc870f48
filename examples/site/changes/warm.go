package changes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

const sitemap = "/sitemap.xml"

// front returns the paths of a language that most readers ask for.
func front(l content.Lang) []string {
	return []string{l.Path("/"), l.Path("/rss.xml"), l.Path("/atom.xml")}
}

// warmsOf returns what to warm up after an event, in the order to do it.
func warmsOf(e service.Event) (paths []string) {
	switch e := e.(type) {
	case service.SettingsUpdated, service.NavigationUpdated:
		for _, l := range content.Langs {
			paths = append(paths, front(l)...)
		}
		return append(paths, sitemap)
	case service.PostUpserted:
		return warmsOfPost(e.Old, e.New)
	case service.PostDeleted:
		return warmsOfPost(e.Old, service.Place{})
	case service.PageUpserted:
		return []string{"/pages/" + e.Slug, sitemap}
	case service.PageDeleted:
		return []string{sitemap}
	case service.TagChanged:
		for _, p := range e.Posts {
			if home := p.Lang.Path("/"); p.Public && !slices.Contains(paths, home) {
				paths = append(paths, home)
			}
		}
	}
	return paths
}

// warmsOfPost returns what shows a post that was at one place and is at another.
func warmsOfPost(from, to service.Place) (paths []string) {
	if to.Public {
		paths = append(paths, to.Lang.Path("/posts/"+to.Slug))
		paths = append(paths, front(to.Lang)...)
	}
	if from.Public && (!to.Public || from.Lang != to.Lang) {
		paths = append(paths, front(from.Lang)...)
	}
	if len(paths) > 0 {
		paths = append(paths, sitemap)
	}
	return paths
}

// What a warm-up at the start asks for in each language.
const (
	firstPages  = 3
	newestPosts = 20
)

// Front returns the paths to warm up when the site starts: for each language the
// first pages of the list, which bring the settings, the navigation and the counts
// with them, the feeds and the newest posts; the pages in the navigation, and the
// sitemap.
func Front(ctx context.Context, r content.Reader) (paths []string, err error) {
	set, err := r.Settings(ctx)
	if err != nil {
		return nil, err
	}
	for _, lang := range content.Langs {
		paths = append(paths, front(lang)...)
		for n := 1; n <= max(firstPages, (newestPosts+set.PostsPerPage-1)/set.PostsPerPage); n++ {
			l, err := r.ListPosts(ctx, content.Filter{Lang: lang}, content.Window{Number: n, Size: set.PostsPerPage})
			if err != nil {
				return nil, err
			}
			if 1 < n && n <= firstPages && len(l.Posts) > 0 {
				paths = append(paths, lang.Path("/?page="+strconv.Itoa(n)))
			}
			for i, p := range l.Posts {
				if (n-1)*set.PostsPerPage+i < newestPosts {
					paths = append(paths, p.Path())
				}
			}
		}
	}
	paths = append(paths, sitemap, "/robots.txt")
	nav, err := r.Navigation(ctx)
	for _, n := range nav {
		if strings.HasPrefix(n.URL, "/") {
			paths = append(paths, n.URL)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), err
}

// progress tells how far the warm-up at the start has come.
type progress struct {
	mu     sync.Mutex // protects the rest
	left   map[string]bool
	total  int
	report func(done, total int, err error)
	err    error
	end    chan struct{}
}

func (p *progress) begin(paths []string, report func(done, total int, err error)) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.total, p.report, p.end = map[string]bool{}, len(paths), report, make(chan struct{})
	for _, path := range paths {
		p.left[path] = true
	}
	return p.end
}

func (p *progress) done(path string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.left[path] {
		return
	}
	delete(p.left, path)
	if err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("%s: %w", path, err))
	}
	p.report(p.total-len(p.left), p.total, err)
	if len(p.left) == 0 {
		close(p.end)
	}
}

// WarmUp warms the paths up, through the queue as after any change, and returns
// when all were tried, or ctx ends. It calls report after each, never two at a
// time. One call is made in the life of a publisher.
func (p *Publisher) WarmUp(ctx context.Context, paths []string, report func(done, total int, err error)) error {
	if len(paths) == 0 {
		return nil
	}
	end := p.progress.begin(paths, report)
	var events []pipeline.Event
	for i := 0; i < len(paths); i += pipeline.MaxWarms {
		id := "start/" + strconv.Itoa(i)
		events = append(events, pipeline.Event{Key: id, Subject: id, Warms: paths[i:min(i+pipeline.MaxWarms, len(paths))]})
	}
	if err := p.consumer.Apply(ctx, events...); err != nil {
		return err
	}
	select {
	case <-end:
		return p.progress.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
