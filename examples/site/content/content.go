// Package content holds the types of the site and the reads of its public side. Requests
// share cached values, so a value from a [Reader] must not be changed.
package content

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// MaxSlug is the greatest length of a slug, in bytes.
const MaxSlug = 100

// ErrNotFound means that a thing does not exist or is not public. The cache stores the absence.
var ErrNotFound = cache.ErrNotFound

// Status says whether a post is public.
type Status string

// Only published posts are public. A write, not the clock, publishes a scheduled post.
const (
	Draft     Status = "draft"
	Scheduled Status = "scheduled"
	Published Status = "published"
)

// Statuses are all of them.
var Statuses = []Status{Draft, Scheduled, Published}

// Tag is a topic of posts.
type Tag struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// Summary is a post without its body, for lists.
type Summary struct {
	ID          int64     `json:"id"`
	Slug        string    `json:"slug"`
	Title       string    `json:"title"`
	Excerpt     string    `json:"summary"`
	Status      Status    `json:"status"`
	PublishedAt time.Time `json:"published_at,omitzero"` // planned time of a scheduled post
	UpdatedAt   time.Time `json:"updated_at"`
	Tags        []Tag     `json:"tags"` // by slug
}

// Post is a post with its body in Markdown.
type Post struct {
	Summary
	Body string `json:"body"`
}

// Path returns the path of the post.
func (s Summary) Path() string { return "/posts/" + s.Slug }

// Page is a page that is not a post: about, imprint.
type Page struct {
	ID        int64     `json:"id"`
	Slug      string    `json:"slug"`
	Title     string    `json:"title"`
	Body      string    `json:"body"` // Markdown
	UpdatedAt time.Time `json:"updated_at"`
}

// Path returns the path of the page.
func (p Page) Path() string { return "/pages/" + p.Slug }

// Filter selects public posts. All set fields must match.
type Filter struct {
	Tag   string // slug; empty means any
	Month string // as returned by [Month]; empty means any
}

// Window is a part of a list: page Number, counted from 1, of Size posts.
type Window struct {
	Number, Size int
}

// List is a window of a list, newest first, and the length of the whole list.
type List struct {
	Posts []Summary `json:"posts"`
	Total int       `json:"total"`
}

// TagCount is a tag of public posts, with their number.
type TagCount struct {
	Tag
	Posts int `json:"posts"`
}

// MonthCount is a month with public posts, with their number.
type MonthCount struct {
	Month string `json:"month"` // as returned by [Month]
	Posts int    `json:"posts"`
}

// SitemapEntry is a URL of the sitemap.
type SitemapEntry struct {
	Path      string
	UpdatedAt time.Time
}

const monthLayout = "2006-01"

// Month returns the calendar month of t in UTC, as 2006-01.
func Month(t time.Time) string { return t.UTC().Format(monthLayout) }

// ParseMonth returns the first instant of a month in the form of [Month].
func ParseMonth(s string) (time.Time, error) {
	t, err := time.Parse(monthLayout, s)
	if err != nil || t.Year() == 0 {
		return t, fmt.Errorf("%q is not a month such as 2006-01", s)
	}
	return t, nil
}

// Settings are the texts about the site, and the sizes of its lists.
type Settings struct {
	BaseURL      string `json:"base_url"` // scheme and host, without a final slash
	Title        string `json:"title"`
	Description  string `json:"description"`
	Author       string `json:"author"`
	PostsPerPage int    `json:"posts_per_page"`
	FeedItems    int    `json:"feed_items"`
}

// NavItem is a link in the navigation.
type NavItem struct {
	Label string `json:"label"`
	URL   string `json:"url"` // a path of this site, or an http or https URL
}

// Scope is a permission of an API key.
type Scope string

// ScopeRead allows the reads of /api/v1, ScopeWrite its writes.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
)

// Scopes lists all scopes.
var Scopes = []Scope{ScopeRead, ScopeWrite}

// APIKey is a key to the public API, "PREFIX_SECRET", without its secret.
type APIKey struct {
	Prefix    string    `json:"prefix"`
	Label     string    `json:"label"`
	Hash      []byte    `json:"-"` // SHA-256 of the secret
	Scopes    []Scope   `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// Allows reports whether the key is valid for scope.
func (k APIKey) Allows(scope Scope) bool {
	return k.RevokedAt.IsZero() && slices.Contains(k.Scopes, scope)
}

// NewKey returns a random key. Its prefix of 40 bits identifies it.
func NewKey() string { return strings.ToLower(rand.Text()[:8]) + "_" + rand.Text() }

// SplitKey returns the parts of a key.
func SplitKey(key string) (prefix, secret string, ok bool) {
	prefix, secret, ok = strings.Cut(key, "_")
	return prefix, secret, ok && prefix != "" && len(prefix) <= 32 && secret != ""
}

// HashSecret returns the hash of a secret. Secrets are random and long, so a plain hash is enough.
func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Matches reports whether secret is the secret of the key, in constant time.
func (k APIKey) Matches(secret string) bool {
	return subtle.ConstantTimeCompare(k.Hash, HashSecret(secret)) == 1
}
