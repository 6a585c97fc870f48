package content

import (
	"slices"
	"time"
)

// Settings are what the site says about itself, and how much of it is on a page.
type Settings struct {
	BaseURL      string        `json:"base_url"` // scheme and host, without a slash at the end
	Author       string        `json:"author"`
	PostsPerPage int           `json:"posts_per_page"`
	FeedItems    int           `json:"feed_items"`
	Texts        map[Lang]Text `json:"texts"` // one for each of Langs
}

// Text is what the site says about itself in one language.
type Text struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

// NavItem is a link in the navigation of one language.
type NavItem struct {
	Lang  Lang   `json:"lang"`
	Label string `json:"label"`
	URL   string `json:"url"` // a path of this site, or an http or https URL
}

// Scope is what an API key allows.
type Scope string

// ScopeRead allows all of /api/v1.
const ScopeRead Scope = "read"

// Scopes are all scopes there are.
var Scopes = []Scope{ScopeRead}

// APIKey is a key to the public API. The key itself is "PREFIX_SECRET"; nobody
// but its owner has the secret.
type APIKey struct {
	Prefix    string    `json:"prefix"`
	Label     string    `json:"label"`
	Hash      []byte    `json:"hash"` // SHA-256 of the secret
	Scopes    []Scope   `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// Allows reports whether the key is good for scope.
func (k APIKey) Allows(scope Scope) bool {
	return k.RevokedAt.IsZero() && slices.Contains(k.Scopes, scope)
}
