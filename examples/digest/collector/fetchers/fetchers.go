// Package fetchers turns the content of sources into items. It allocates at most 128 MiB for
// an answer, even for a hostile one.
package fetchers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// MaxItems is the most items that are read from one answer. It exceeds the length of feeds that
// list all their items, because the new ones may be the last.
const MaxItems = 10_000

const (
	parserVersion = "4"     // change it when a fetcher reads the same answer differently
	maxText       = 4 << 20 // the most bytes that are read from an answer
	acceptFeeds   = "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.5"
	acceptPages   = "text/html, application/xhtml+xml, */*;q=0.5"
	acceptJSON    = "application/json"
)

// Source describes a source to a fetcher. Errors and items must not show its config, which may hold
// keys.
type Source struct {
	Type   string
	Config json.RawMessage
	Seen   string // the Seen of the result whose items are stored, or empty
	Now    bool   // ask the origin, even if a shared answer is new
}

// Item is one item of a source. All texts are plain text. GUID and URL may be empty.
type Item = store.Item

// Result is the current content of a source.
type Result struct {
	Items       []Item        // in the order of the source. Nil if NotModified
	NotModified bool          // the answer is the one that Source.Seen names
	Cut         bool          // the answer is too long: Items are its first ones
	Seen        string        // names the answer that Items come from
	Status      int           // HTTP status
	FreshFor    time.Duration // how long the origin wants no requests, or 0
	MovedTo     string        // target of a permanent redirect of config.url, or empty
}

// Fetcher fetches sources of one type. Both methods may be called concurrently.
type Fetcher interface {
	Fetch(ctx context.Context, s Source) (Result, error)
	Address(s Source) (string, error) // the first URL that Fetch requests
}

// ConfigError means that a config field is missing or wrong. It never holds the value.
type ConfigError struct{ Field, Problem string }

// Error returns "config.FIELD: PROBLEM".
func (e *ConfigError) Error() string { return "config." + e.Field + ": " + e.Problem }

// ErrParse means that an answer does not have the format of its type.
var ErrParse = errors.New("the answer cannot be read")

// Config holds the addresses of the services. Client is required.
type Config struct {
	Client interface { // a [fetch.Client]
		Get(ctx context.Context, r fetch.Request) (fetch.Response, error)
	}
	HackerNews string        // empty means https://hn.algolia.com
	Reddit     string        // empty means https://www.reddit.com
	GitHub     string        // empty means https://github.com
	Share      time.Duration // how long sources with the same address share an answer. Zero means 20 s. Negative means never
}

// Unfetched are the valid types that have no fetcher yet.
var Unfetched = []string{"twitter_bookmarks", "twitter_feed", "twitter_list"}

// New returns a fetcher for each type that has one.
func New(cfg Config) map[string]Fetcher {
	cfg.Share = max(cmp.Or(cfg.Share, 20*time.Second), 0)
	hn := cmp.Or(cfg.HackerNews, "https://hn.algolia.com")
	reddit, github := cmp.Or(cfg.Reddit, "https://www.reddit.com"), cmp.Or(cfg.GitHub, "https://github.com")
	feed := fetcher{Config: cfg, accept: acceptFeeds, address: Source.url, read: readFeed, moves: true}
	page := fetcher{Config: cfg, accept: acceptPages, robots: true, address: Source.url, moves: true}
	return map[string]Fetcher{
		"rss": feed, "atom": feed, "digest_feed": feed,
		"website":         website{page, feed},
		"hackernews":      fetcher{Config: cfg, accept: acceptJSON, base: hn, address: Source.stories, read: readStories},
		"reddit":          fetcher{Config: cfg, accept: acceptJSON, base: reddit, address: Source.posts, read: readPosts},
		"custom_api":      fetcher{Config: cfg, accept: acceptJSON, address: Source.api, read: readCustom, moves: true},
		"github_trending": fetcher{Config: cfg, accept: acceptPages, robots: true, base: github, address: Source.trending, read: readTrending},
	}
}

// Types returns the types of a set of fetchers, sorted.
func Types(set map[string]Fetcher) []string { return slices.Sorted(maps.Keys(set)) }

// Check returns what is wrong with a source.
func Check(set map[string]Fetcher, s Source) error {
	f := set[s.Type]
	if f == nil {
		if slices.Contains(Unfetched, s.Type) {
			return nil
		}
		return fmt.Errorf("unknown type; the types are %v and %v", Types(set), Unfetched)
	}
	address, err := f.Address(s)
	if err != nil {
		return err
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("config: its address must be one of http or https, with a host")
	}
	_, err = schedule.Intervals(nil).Source(s.Type, s.Config)
	return err
}

type fetcher struct {
	Config
	accept  string
	robots  bool // obey robots.txt, because a page is scraped
	base    string
	address func(s Source) (string, error)                       // relative to base
	read    func(s Source, resp fetch.Response, r *Result) error // adds the items to r
	moves   bool                                                 // a permanent redirect may change config.url
}

// Address implements [Fetcher].
func (f fetcher) Address(s Source) (string, error) {
	addr, err := f.address(s)
	return f.base + addr, err
}

// Fetch implements [Fetcher].
func (f fetcher) Fetch(ctx context.Context, s Source) (Result, error) {
	resp, err := f.ask(ctx, s)
	if err != nil {
		return Result{}, err
	}
	return f.result(s, resp)
}

func (f fetcher) ask(ctx context.Context, s Source) (fetch.Response, error) {
	addr, err := f.Address(s)
	if err != nil {
		return fetch.Response{}, err
	}
	share := f.Share
	if s.Now {
		share = 0
	}
	return f.Client.Get(ctx, fetch.Request{
		URL: addr, Accept: f.accept, Robots: f.robots, MaxAge: share, Version: parserVersion, Packed: true,
	})
}

// result reads an answer unless its items are stored. A 304 does not prove that they are.
func (f fetcher) result(s Source, resp fetch.Response) (Result, error) {
	r := Result{Seen: parserVersion + ":" + resp.Hash, Status: resp.Status, FreshFor: resp.FreshFor}
	if f.moves {
		r.MovedTo = resp.MovedTo
	}
	if r.NotModified = r.Seen == s.Seen; r.NotModified {
		return r, nil
	}
	err := f.read(s, resp, &r)
	if len(r.Items) > MaxItems {
		r.Items, r.Cut = r.Items[:MaxItems], true
	}
	return r, err
}

// text returns the beginning of an answer in UTF-8, and whether the answer ends there.
func text(resp fetch.Response) (text []byte, whole bool, err error) {
	in, err := resp.Text()
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(in, maxText+1))
	}
	if err != nil {
		return nil, false, &ParseError{cause: err}
	}
	return text[:min(len(text), maxText)], len(text) <= maxText, nil
}

func (s Source) config(v any) error {
	if len(s.Config) == 0 {
		return nil
	}
	err := json.Unmarshal(s.Config, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return &ConfigError{strings.ToLower(e.Field), "is not a " + e.Type.Kind().String()}
	}
	if err != nil {
		return errors.New("config is not a JSON object")
	}
	return nil
}

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

// webURL returns ref as an absolute URL. It returns "" unless the scheme is http or https,
// because people will click the link.
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

// ParseError wraps [ErrParse]. Its text omits its cause, because the cause may quote the answer.
type ParseError struct {
	Missing string // what the answer lacks; empty means unknown
	cause   error
}

// Error returns the text of ErrParse, and what is missing.
func (e *ParseError) Error() string {
	if e.Missing == "" {
		return ErrParse.Error()
	}
	return fmt.Sprintf("%v: %s", ErrParse, e.Missing)
}

// Unwrap returns ErrParse and the cause.
func (e *ParseError) Unwrap() []error { return []error{ErrParse, e.cause} }
