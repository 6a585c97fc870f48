package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
)

// Site is a tracked site. SitemapURL or Home, and a title, are required. See [Default] for the
// rest.
type Site struct {
	Name       string `yaml:"-"` // names the site's folder and rows
	SitemapURL string `yaml:"sitemap_url"`
	Home       string `yaml:"home"` // used without a SitemapURL: robots.txt names the sitemaps, or they are at the usual paths

	Incremental bool     `yaml:"enable_incremental"`
	FetchTitles bool     `yaml:"fetch_titles"` // otherwise titles come from the sitemap and the URL
	Window      int      `yaml:"max_items"`    // in the feed
	MaxPages    int      `yaml:"max_pages"`    // the most pages fetched in one run, newest first; the others wait for the next run
	Include     []string `yaml:"include"`      // regular expressions; none means all pages
	Exclude     []string `yaml:"exclude"`      // regular expressions
	Updates     bool     `yaml:"updates"`      // fetch a page again when its lastmod changes

	Cron       string       `yaml:"cron"`        // in UTC unless it begins with CRON_TZ=
	Retries    int          `yaml:"retries"`     // of a failed run
	RetryDelay Duration     `yaml:"retry_delay"` // before the first retry; each wait is six times as long as the one before
	Channel    feed.Channel `yaml:"channel_config"`
	State      `yaml:"incremental_config"`
}

// State says what the database keeps of a site.
type State struct {
	HistoryDays int  `yaml:"max_history_days"`      // how long the full rows of gone pages are kept
	Baseline    int  `yaml:"baseline_items"`        // published at the first run
	CleanupDays int  `yaml:"cleanup_interval_days"` // between two checks of the whole database
	RetryFailed bool `yaml:"retry_failed_urls"`
}

// Default returns the source document's defaults.
func Default() Site {
	return Site{
		Incremental: true, FetchTitles: true, Window: 50, MaxPages: 100, Cron: "0 */2 * * *", Retries: 2, RetryDelay: Duration(30 * time.Second),
		State: State{HistoryDays: 30, Baseline: 10, CleanupDays: 7, RetryFailed: true},
	}
}

// UnmarshalYAML reads a site over the defaults. A [yaml.Unmarshaler] would accept unknown fields.
func (s *Site) UnmarshalYAML(decode func(any) error) error {
	type plain Site // without this method
	*s = Default()
	return decode((*plain)(s))
}

var siteName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// check adds the faults of a site to x.
func (s Site) check(x *faults, at string) {
	if !siteName.MatchString(s.Name) {
		x.add(at, "not a name of up to 64 letters, digits, '-' and '_'")
	}
	if s.Source() == "" {
		x.add(at, "no sitemap_url or home; name one")
	}
	x.url(at+".sitemap_url", s.SitemapURL, false)
	x.url(at+".home", s.Home, false)
	x.url(at+".channel_config.link", s.Channel.Link, false)
	if s.Channel.Title == "" {
		x.add(at+".channel_config.title", "missing; name the feed")
	}
	for _, f := range []struct {
		field              string
		value, least, most int
	}{
		{"max_items", s.Window, 1, 1_000}, {"max_pages", s.MaxPages, 1, 10_000}, {"retries", s.Retries, 0, 10},
		{"incremental_config.max_history_days", s.HistoryDays, 1, 1_000},
		{"incremental_config.baseline_items", s.Baseline, 0, 1_000},
		{"incremental_config.cleanup_interval_days", s.CleanupDays, 1, 365},
	} {
		if f.value < f.least || f.value > f.most {
			x.add(at+"."+f.field, fmt.Sprintf("%d is not a number from %d to %d", f.value, f.least, f.most))
		}
	}
	for field, texts := range map[string][]string{".include": s.Include, ".exclude": s.Exclude} {
		if _, err := compile(texts); err != nil {
			x.add(at+field, err.Error())
		}
	}
	if times, err := s.Schedule(); err != nil {
		x.add(at+".cron", "not a cron expression of five fields such as 0 */2 * * *")
	} else if times.Next(time.Now()).IsZero() { // the site would run again and again
		x.add(at+".cron", "names no day of the next years, such as the 31st of February")
	}
}

// filled returns the site with the values that follow from other fields.
func (s Site) filled(publicURL string) Site {
	s.Channel.Base = publicURL + "/" + s.Name
	s.Channel.Link = cmp.Or(s.Channel.Link, fetch.Redact(s.Home))
	if u, err := url.Parse(s.Source()); err == nil && s.Channel.Link == "" {
		s.Channel.Link = u.Scheme + "://" + u.Host + "/"
	}
	if sched, err := s.Schedule(); err == nil { // from a fixed date: the feed contains the value, and must not change with the clock
		first := sched.Next(time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC))
		s.Channel.TTL = sched.Next(first).Sub(first)
	}
	return s
}

func compile(texts []string) (all []*regexp.Regexp, err error) {
	for i, t := range texts {
		re, err := regexp.Compile(t)
		if err != nil {
			return nil, fmt.Errorf("expression %d: %w", i+1, err)
		}
		all = append(all, re)
	}
	return all, nil
}

// Tracks returns a function that reports whether a page belongs to the feed.
func (s Site) Tracks() func(url string) bool {
	include, _ := compile(s.Include) // check has compiled them
	exclude, _ := compile(s.Exclude)
	return func(url string) bool {
		matches := func(re *regexp.Regexp) bool { return re.MatchString(url) }
		return (len(include) == 0 || slices.ContainsFunc(include, matches)) && !slices.ContainsFunc(exclude, matches)
	}
}

// Schedule returns the times at which the site runs.
func (s Site) Schedule() (cron.Schedule, error) { return cron.ParseStandard(s.Cron) }

// Stale reports whether a site has missed three runs since its last success. It is false in
// full mode, which records no success.
func (s Site) Stale(success, now time.Time) bool {
	sched, err := s.Schedule()
	if err != nil || !s.Incremental {
		return false
	}
	if success.After(now.Add(time.Minute)) { // the clock was wrong
		return true
	}
	for range 3 {
		success = sched.Next(success)
	}
	return now.After(success)
}

// Source returns the URL that leads to the site's sitemaps.
func (s Site) Source() string { return cmp.Or(s.SitemapURL, s.Home) }

// Scope returns a fingerprint of the fields that select the tracked pages.
func (s Site) Scope() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", s.Source(), s.Include, s.Exclude))
	return hex.EncodeToString(sum[:16])
}
