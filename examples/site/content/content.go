// Package content holds what the site is made of: posts, pages, tags, navigation,
// settings and API keys, and the reads that its public side is built from. It
// knows neither where they are stored nor how they are shown.
//
// Values of these types are shared between requests once a cache is in front of
// the store, so nobody changes one that a [Reader] returned; and they survive JSON
// as they are, so that a cache can keep them elsewhere.
package content

import (
	"errors"
	"time"
)

// ErrNotFound means that there is no such thing, or that the public may not see
// it: outside the admin API nobody can tell the two apart.
var ErrNotFound = errors.New("not found")

// Lang is the language of a post, a page or a navigation item.
type Lang string

// The languages of the site. English is at /, Chinese under /zh/.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// Langs are all languages, the default one first.
var Langs = []Lang{English, Chinese}

// Path returns the path of something of language l: rest, which begins with a
// slash, below the language's root.
func (l Lang) Path(rest string) string {
	if l == English || l == "" {
		return rest
	}
	return "/" + string(l) + rest
}

// Status says who sees a post, and when.
type Status string

// A draft and a scheduled post are seen by the admin API alone. A scheduled post
// becomes published by a write, not by the clock: what the public sees depends on
// the database and on nothing else.
const (
	Draft     Status = "draft"
	Scheduled Status = "scheduled"
	Published Status = "published"
)

// Tag is what posts are filed under.
type Tag struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// Summary is a post as lists show it.
type Summary struct {
	ID          int64     `json:"id"`
	Slug        string    `json:"slug"`
	Title       string    `json:"title"`
	Excerpt     string    `json:"summary"`
	Lang        Lang      `json:"lang"`
	Status      Status    `json:"status"`
	PublishedAt time.Time `json:"published_at,omitzero"` // of a scheduled post: when it is to be
	UpdatedAt   time.Time `json:"updated_at"`
	Tags        []Tag     `json:"tags"` // by slug
}

// Post is a post with its body, which is Markdown as its author wrote it.
type Post struct {
	Summary
	Body string `json:"body"`
}

// Path returns where the post is.
func (s Summary) Path() string { return s.Lang.Path("/posts/" + s.Slug) }

// TagSlugs returns the slugs of the post's tags, in order.
func (s Summary) TagSlugs() []string {
	slugs := make([]string, 0, len(s.Tags))
	for _, t := range s.Tags {
		slugs = append(slugs, t.Slug)
	}
	return slugs
}

// Page is a page outside the stream of posts: about, imprint.
type Page struct {
	ID        int64     `json:"id"`
	Slug      string    `json:"slug"`
	Title     string    `json:"title"`
	Body      string    `json:"body"` // Markdown
	Lang      Lang      `json:"lang"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Path returns where the page is.
func (p Page) Path() string { return p.Lang.Path("/pages/" + p.Slug) }
