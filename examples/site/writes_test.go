package main

import "strings"

const (
	newPage = `{"slug": "who", "title": "Who", "body": "B"}`
	newPost = `{"slug": "new", "title": "New", "summary": "S", "body": "B", "status": "published", "tags": ["caching"]}`
	oldPost = `{"slug": "the-cost-of-a-miss", "title": "New title", "summary": "S", "body": "B", "status": "published", "tags": ["caching"]}`
)

// everyPage matches all pages with the layout.
var everyPage = []string{
	"/", "/?page=2", "/?page=6", "/posts/the-cost-of-a-miss", "/posts/moved", "/posts/new", "/posts/feet-first", "/p/57",
	"/pages/about", "/pages/who", "/tags/caching", "/tags/caches", "/tags/soil", "/months/2024-05", "/months/2026-11",
}

// counted are the pages that a new English post changes.
var counted = []string{
	"/", "/?page=2", "/?page=6", "/posts/new", "/p/57", "/tags/caching", "/tags/soil", "/months/2024-05", "/months/2026-11", "/rss.xml",
	"/sitemap.xml", "/api/v1/posts", "/api/v1/posts/new", "/api/v1/tags", "/api/v1/months",
}

// write is one kind of change of the site.
type write struct {
	name   string
	before func(v *visitor) // may be nil
	do     func(v *visitor)
	want   []string // the public pages that change
}

var scheduled = strings.Replace(strings.Replace(newPost, "published", "scheduled", 1), "}", `, "published_at": "2026-11-22T08:00:00Z"}`, 1)

var writes = []write{
	{"create post", nil, func(v *visitor) { v.do("POST /admin/api/posts", newPost) }, counted},
	{"create draft", nil, func(v *visitor) { v.do("POST /admin/api/posts", strings.Replace(newPost, "published", "draft", 1)) }, nil},
	{"schedule post", nil, func(v *visitor) { v.do("POST /admin/api/posts", scheduled) }, nil},
	{
		"publish by job",
		func(v *visitor) { v.do("POST /admin/api/posts", scheduled) },
		func(v *visitor) {
			v.now = v.now.AddDate(0, 0, 2)
			if n, err := v.service.PublishDue(v.t.Context()); n != 1 || err != nil {
				v.t.Errorf("PublishDue = %d, %v", n, err)
			}
		}, counted,
	},
	{
		"publish by hand",
		func(v *visitor) { v.do("POST /admin/api/posts", scheduled) },
		func(v *visitor) { v.do("POST /admin/api/posts/57/publish", "") }, counted,
	},
	{"update post", nil, func(v *visitor) { v.do("PUT /admin/api/posts/1", oldPost) }, []string{
		"/?page=6", "/posts/the-cost-of-a-miss", "/tags/caching", "/months/2024-05", "/sitemap.xml", "/api/v1/posts/the-cost-of-a-miss",
	}},
	{"move post", nil, func(v *visitor) {
		v.do("PUT /admin/api/posts/1", strings.Replace(oldPost, "the-cost-of-a-miss", "moved", 1))
	}, []string{
		"/?page=6", "/posts/the-cost-of-a-miss", "/posts/moved", "/p/1", "/tags/caching", "/months/2024-05", "/sitemap.xml",
		"/api/v1/posts/the-cost-of-a-miss",
	}},
	{"delete post", func(v *visitor) { v.do("POST /admin/api/posts", newPost) }, func(v *visitor) { v.do("DELETE /admin/api/posts/57", "") }, counted},
	{"update page", nil, func(v *visitor) {
		v.do("PUT /admin/api/pages/1", newPage)
	}, []string{"/pages/about", "/pages/who", "/sitemap.xml", "/api/v1/pages/about"}},
	{"create page", nil, func(v *visitor) {
		v.do("POST /admin/api/pages", newPage)
	}, []string{"/pages/who", "/sitemap.xml"}},
	{"delete page", nil, func(v *visitor) { v.do("DELETE /admin/api/pages/1", "") }, []string{"/pages/about", "/sitemap.xml", "/api/v1/pages/about"}},
	{"create tag", nil, func(v *visitor) { v.do("POST /admin/api/tags", `{"slug": "caches", "name": "C"}`) }, nil},
	{
		"rename tag", nil,
		func(v *visitor) { v.do("PUT /admin/api/tags/caching", `{"slug": "caches", "name": "Caches"}`) },
		[]string{
			"/", "/?page=2", "/?page=6", "/posts/the-cost-of-a-miss", "/tags/caching", "/tags/caches", "/tags/soil",
			"/months/2024-05", "/api/v1/posts", "/api/v1/posts/the-cost-of-a-miss", "/api/v1/tags",
		},
	},
	{"delete tag", nil, func(v *visitor) { v.do("DELETE /admin/api/tags/caching", "") }, []string{
		"/", "/?page=2", "/?page=6", "/posts/the-cost-of-a-miss", "/tags/caching", "/tags/soil",
		"/months/2024-05", "/api/v1/posts", "/api/v1/posts/the-cost-of-a-miss", "/api/v1/tags",
	}},
	{"navigation", nil, func(v *visitor) {
		v.do("PUT /admin/api/navigation", `{"items": [{"label": "L", "url": "/"}]}`)
	}, everyPage},
	{"settings", nil, func(v *visitor) {
		v.do("PUT /admin/api/settings", `{"base_url": "https://other.example", "author": "A", "posts_per_page": 5, "feed_items": 5,
			"title": "T", "description": "D"}`)
	}, append([]string{
		"/rss.xml", "/sitemap.xml", "/robots.txt", "/api/v1/posts", "/api/v1/posts/the-cost-of-a-miss", "/api/v1/pages/about",
	}, everyPage...)},
	{"revoke key", nil, func(v *visitor) { v.do("DELETE /admin/api/keys/testkey0", "") }, api()},
	{"update key", nil, func(v *visitor) { v.do("PUT /admin/api/keys/testkey0", `{"label": "L"}`) }, api()},
	{"create key", nil, func(v *visitor) { v.do("POST /admin/api/keys", `{"label": "L", "scopes": ["read"]}`) }, nil},
}

// byAPI are the writes that both APIs have, by their name in writes. The test also makes
// them through /api/v1, which identifies things by slug.
var byAPI = map[string]func(v *visitor){
	"create post":     func(v *visitor) { v.do("POST /api/v1/posts", newPost) },
	"publish by hand": func(v *visitor) { v.do("POST /api/v1/posts/new/publish", "") },
	"update post":     func(v *visitor) { v.do("PUT /api/v1/posts/the-cost-of-a-miss", oldPost) },
	"move post": func(v *visitor) {
		v.do("PUT /api/v1/posts/the-cost-of-a-miss", strings.Replace(oldPost, "the-cost-of-a-miss", "moved", 1))
	},
	"delete post": func(v *visitor) { v.do("DELETE /api/v1/posts/new", "") },
	"update page": func(v *visitor) { v.do("PUT /api/v1/pages/about", newPage) },
	"create page": func(v *visitor) { v.do("POST /api/v1/pages", newPage) },
	"delete page": func(v *visitor) { v.do("DELETE /api/v1/pages/about", "") },
	"create tag":  func(v *visitor) { v.do("POST /api/v1/tags", `{"slug": "caches", "name": "C"}`) },
	"rename tag":  func(v *visitor) { v.do("PUT /api/v1/tags/caching", `{"slug": "caches", "name": "Caches"}`) },
	"delete tag":  func(v *visitor) { v.do("DELETE /api/v1/tags/caching", "") },
}

// api returns the public URLs that need a key.
func api() (paths []string) {
	for _, path := range public {
		if strings.HasPrefix(path, "/api/") {
			paths = append(paths, path)
		}
	}
	return paths
}

// remade are the public pages that a write invalidates although they stay the same: an
// event names what a page may show, not what it does show.
var remade = map[string][]string{
	"update post": {"/", "/?page=2", "/p/1", "/tags/soil", "/rss.xml", "/api/v1/posts"},
	"move post":   {"/", "/?page=2", "/tags/soil", "/rss.xml", "/api/v1/posts"},
	"rename tag":  {"/p/1", "/rss.xml"},
	"delete tag":  {"/p/1", "/rss.xml"},
}
