// Package fetchers turns what sources of each type publish into items. It asks over
// HTTP through a small interface, keeps nothing, and knows neither the schedule nor
// the database.
package fetchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// parserVersion changes when a fetcher makes something else of the same answer. Then
// what has been seen is unknown, and is read again: validators of the old reading must
// not hide it.
const parserVersion = "1"

// MaxItems is how many items of one answer are read, in its order; an archive of
// years is not news.
const MaxItems = 500

// Getter gets things over HTTP: a [fetch.Client].
type Getter interface {
	Get(ctx context.Context, r fetch.Request) (fetch.Response, error)
}

// Source is what a fetcher is told about a source. The config may hold keys: neither it
// nor its values come back in errors or items.
type Source struct {
	Type   string
	Config json.RawMessage

	// Seen is the Seen of the result whose items are stored. Empty: none are.
	Seen string
}

// Item is something that a source publishes. All texts are plain, without markup.
type Item struct {
	GUID        string // as the source names it; empty: it does not
	URL         string // absolute, http or https, or empty
	Title       string
	Content     string
	Author      string
	PublishedAt time.Time // zero: not said
}

// Result is what a source publishes now.
type Result struct {
	// Items are all there is, in the source's order. Nil if NotModified. The slice
	// belongs to the caller.
	Items []Item

	// NotModified says that it is what Source.Seen stands for.
	NotModified bool

	Seen     string        // stands for the answers that Items are from
	Status   int           // of HTTP
	FreshFor time.Duration // how long the origin wants to be left alone; 0: it does not say
	MovedTo  string        // what config.url would have to be to spare a permanent redirect
}

// Fetcher fetches sources of one type. Both methods may be called concurrently.
type Fetcher interface {
	// Fetch asks the source once. It ends with ctx.
	Fetch(ctx context.Context, s Source) (Result, error)

	// Address returns the URL that Fetch asks first, so that callers know whom
	// they keep busy. It asks nobody.
	Address(s Source) (string, error)
}

// ConfigError says that a source's config is not what its type needs. It holds the
// field and never the value.
type ConfigError struct{ Field, Problem string }

// Error returns "config.FIELD: PROBLEM".
func (e *ConfigError) Error() string { return "config." + e.Field + ": " + e.Problem }

// ErrParse says that an answer is not of the form that its type has.
var ErrParse = errors.New("the answer cannot be read")

// Config says where the services are. The zero value but for Client is that of the
// real ones.
type Config struct {
	Client Getter // required

	// The services of fixed address. Empty: the real ones.
	HackerNews string // https://hn.algolia.com
	Reddit     string // https://www.reddit.com
	GitHub     string // https://github.com

	// Share is how old an answer may be that was fetched for another source with
	// the same address, so that two of those cost one request. It must be less than
	// the shortest interval. 0: 20 s. Negative: not at all.
	Share time.Duration
}

// Unfetched are the types that sources may have and that nobody can fetch yet.
var Unfetched = []string{"twitter_bookmarks", "twitter_feed", "twitter_list"}

// New returns a fetcher for each type that has one.
func New(cfg Config) map[string]Fetcher {
	c := client{get: cfg.Client, share: max(cfg.Share, 0)}
	if cfg.Share == 0 {
		c.share = 20 * time.Second
	}
	base := func(own, usual string) string {
		if own == "" {
			own = usual
		}
		return strings.TrimSuffix(own, "/")
	}
	feed := feedFetcher{c}
	return map[string]Fetcher{
		"rss": feed, "atom": feed, "json": feed, "digest_feed": feed,
		"website":         website{c},
		"hackernews":      hackerNews{c, base(cfg.HackerNews, "https://hn.algolia.com")},
		"reddit":          reddit{c, base(cfg.Reddit, "https://www.reddit.com")},
		"github_trending": trending{c, base(cfg.GitHub, "https://github.com")},
		"custom_api":      customAPI{c},
	}
}

// Types returns the types of a set of fetchers, sorted.
func Types(set map[string]Fetcher) []string { return slices.Sorted(maps.Keys(set)) }

// client is the Getter with what all fetchers ask for.
type client struct {
	get   Getter
	share time.Duration
}

func (c client) ask(ctx context.Context, r fetch.Request) (fetch.Response, error) {
	r.MaxAge, r.Version = c.share, parserVersion
	return c.get.Get(ctx, r)
}

// result returns the result of an answer without its items. What it is remembered by is
// compared with what has been stored, and not with what was in a cache: a 304 says
// nothing about whether the items of the first answer were.
func result(s Source, resp fetch.Response) Result {
	seen := parserVersion + ":" + resp.Hash
	return Result{NotModified: seen == s.Seen, Seen: seen, Status: resp.Status, FreshFor: resp.FreshFor, MovedTo: resp.MovedTo}
}

// config reads the source's config into v.
func (s Source) config(v any) error {
	if len(s.Config) == 0 {
		return nil
	}
	err := json.Unmarshal(s.Config, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return &ConfigError{e.Field, "is not a " + e.Type.Kind().String()}
	}
	if err != nil {
		return errors.New("config is not a JSON object")
	}
	return nil
}

// url returns the source's url.
func (s Source) url() (string, error) {
	var c struct{ URL string }
	if err := s.config(&c); err != nil {
		return "", err
	}
	if c.URL == "" {
		return "", &ConfigError{"url", "is missing"}
	}
	return c.URL, nil
}

// webURL returns ref as an absolute http or https URL, seen from base; empty if it is
// none. What stands in a feed as a link is shown to people: javascript: is not a link.
func webURL(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil || strings.TrimSpace(ref) == "" {
		return ""
	}
	u, err := b.Parse(strings.TrimSpace(ref))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// parseError is an error in what a source sent. The cause may quote it and so is in
// the chain, but not in the text.
type parseError struct {
	what  string
	cause error
}

func (e *parseError) Error() string   { return fmt.Sprintf("%s: %v", e.what, ErrParse) }
func (e *parseError) Unwrap() []error { return []error{ErrParse, e.cause} }
