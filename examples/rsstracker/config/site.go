package config

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/andybalholm/cascadia"
	"github.com/robfig/cron/v3"

	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

// everyTwoHours is the document's schedule.
const everyTwoHours = "0 */2 * * *"

const day = 24 * time.Hour

// check adds what is wrong with a site to x.
func (s Site) check(x *faults, at string) {
	if !siteName.MatchString(s.name) {
		x.add(at, "a name of up to 64 letters, digits, '-' and '_' is wanted")
	}
	if s.SitemapURL == "" && len(s.SitemapURLs) == 0 && s.Home == "" {
		x.add(at, "one of sitemap_url, sitemap_urls and home is wanted")
	}
	for _, f := range []struct{ field, value string }{
		{"sitemap_url", s.SitemapURL}, {"home", s.Home}, {"channel_config.link", s.Channel.Link}, {"channel_config.hub", s.Channel.Hub},
	} {
		if f.value != "" && !absolute(f.value) {
			x.add(at+"."+f.field, "an http or https URL is wanted")
		}
	}
	for i, u := range s.SitemapURLs {
		if !absolute(u) {
			x.add(fmt.Sprintf("%s.sitemap_urls[%d]", at, i), "an http or https URL is wanted")
		}
	}
	if s.Channel.Title == "" {
		x.add(at+".channel_config.title", "is wanted")
	}
	s.checkNumbers(x, at)
	s.checkTexts(x, at)
}

func (s Site) checkNumbers(x *faults, at string) {
	for _, f := range []struct {
		field       string
		value       *int
		least, most int
	}{
		{"max_items", s.MaxItems, 1, 1_000}, {"max_pages", s.MaxPages, 1, 10_000},
		{"incremental_config.max_history_days", s.State.MaxHistoryDays, 1, 1_000},
		{"incremental_config.baseline_items", s.State.BaselineItems, 0, 1_000},
		{"incremental_config.cleanup_interval_days", s.State.CleanupIntervalDays, 1, 365},
	} {
		if f.value != nil && (*f.value < f.least || *f.value > f.most) {
			x.add(at+"."+f.field, fmt.Sprintf("a number from %d to %d is wanted", f.least, f.most))
		}
	}
}

func (s Site) checkTexts(x *faults, at string) {
	if _, err := compile(s.Include); err != nil {
		x.add(at+".include", err.Error())
	}
	if _, err := compile(s.Exclude); err != nil {
		x.add(at+".exclude", err.Error())
	}
	if s.Selector != "" {
		if _, err := cascadia.ParseGroup(s.Selector); err != nil {
			x.add(at+".content_selector", "a CSS selector is wanted")
		}
	}
	if _, err := s.Schedule(); err != nil {
		x.add(at+".cron", "a cron expression of five fields is wanted, such as "+everyTwoHours)
	}
}

func compile(texts []string) ([]*regexp.Regexp, error) {
	var all []*regexp.Regexp
	for i, t := range texts {
		re, err := regexp.Compile(t)
		if err != nil {
			return nil, fmt.Errorf("expression %d: %w", i+1, err)
		}
		all = append(all, re)
	}
	return all, nil
}

// Schedule returns when the site is run.
func (s Site) Schedule() (cron.Schedule, error) {
	return cron.ParseStandard(cmp.Or(s.Cron, everyTwoHours))
}

// IsIncremental reports whether the site is run by its state, and not in full mode.
func (s Site) IsIncremental() bool { return s.Incremental == nil || *s.Incremental }

// Track returns the site as package track wants it. The configuration must have
// passed [Parse].
func (s Site) Track() track.Site {
	roots := s.SitemapURLs
	if s.SitemapURL != "" {
		roots = append([]string{s.SitemapURL}, roots...)
	}
	include, _ := compile(s.Include) // checked
	exclude, _ := compile(s.Exclude)
	t := track.Site{
		Name: s.name, Home: s.Home, Sitemaps: roots, Include: include, Exclude: exclude, Selector: s.Selector, Updates: s.Updates,
		NoPages: s.FetchTitles != nil && !*s.FetchTitles, NoRetry: s.State.RetryFailedURLs != nil && !*s.State.RetryFailedURLs,
		Window: or(s.MaxItems, 0), MaxPages: or(s.MaxPages, 0), Baseline: or(s.State.BaselineItems, 0),
		History: time.Duration(or(s.State.MaxHistoryDays, 30)) * day, CleanEvery: time.Duration(or(s.State.CleanupIntervalDays, 7)) * day,
	}
	if s.State.BaselineItems != nil && *s.State.BaselineItems == 0 {
		t.Baseline = -1 // none, and not the usual number
	}
	t.Channel = feed.Channel{
		Title: s.Channel.Title, Description: s.Channel.Description, Link: cmp.Or(s.Channel.Link, s.Home, hostOf(roots)),
		Base: s.publicURL + "/" + s.name, Language: s.Channel.Language, Author: s.Channel.Author, Hub: s.Channel.Hub, TTL: s.interval(),
	}
	return t
}

// interval is the time between two runs, measured at a fixed date, so that feeds that
// say it do not change with the clock.
func (s Site) interval() time.Duration {
	sched, err := s.Schedule()
	if err != nil {
		return 0
	}
	first := sched.Next(time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC))
	return sched.Next(first).Sub(first)
}

func or(v *int, usual int) int {
	if v == nil {
		return usual
	}
	return *v
}

// hostOf returns the front page of the first sitemap's host.
func hostOf(roots []string) string {
	if len(roots) == 0 {
		return ""
	}
	u, err := url.Parse(roots[0])
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/"
}
