package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/rsstracker/config"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
)

// document is the example of the source document, as YAML.
const document = `
public_url: https://feeds.example.org/
sites:
  prefect_blog:
    sitemap_url: https://www.prefect.io/sitemap.xml
    enable_incremental: true
    fetch_titles: true
    max_items: 20
    include: ["/blog/"]
    cron: "0 */2 * * *"
    channel_config:
      title: Prefect Blog Updates (Incremental)
      description: Latest blog posts from Prefect - incremental updates
    incremental_config:
      max_history_days: 30
      baseline_items: 10
      cleanup_interval_days: 7
      retry_failed_urls: true
`

func TestTheDocumentsExample(t *testing.T) {
	f, err := config.Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Sites["prefect_blog"]
	const root = "https://www.prefect.io/sitemap.xml"
	want := config.Site{
		Name: "prefect_blog", SitemapURL: root, Incremental: true, FetchTitles: true, Window: 20, MaxPages: 100,
		Include: []string{"/blog/"}, Cron: "0 */2 * * *", Retries: 2, RetryDelay: config.Duration(30 * time.Second),
		State: config.State{HistoryDays: 30, Baseline: 10, CleanupDays: 7, RetryFailed: true},
		Channel: feed.Channel{
			Title: "Prefect Blog Updates (Incremental)", Description: "Latest blog posts from Prefect - incremental updates",
			Link: "https://www.prefect.io/", Base: "https://feeds.example.org/prefect_blog", TTL: 2 * time.Hour,
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sched, err := s.Schedule()
	if at := time.Date(2026, time.March, 1, 13, 0, 0, 0, time.UTC); err != nil || sched.Next(at) != at.Add(time.Hour) {
		t.Errorf("the run after 13:00 is at %v, %v", sched.Next(at), err)
	}
	if f.Database != "rss_incremental.db" || f.Listen == "" || f.Output == "" || !strings.Contains(f.UserAgent, "feeds.example.org") || f.HostDelay == 0 {
		t.Errorf("%+v", f)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	site := func(s string) string {
		return "{public_url: 'https://f.example', sites: {a: {home: 'https://a.example', channel_config: {title: A}, " + s + "}}}"
	}
	for text, want := range map[string][]string{
		"": {"public_url", "sites"},
		"{public_url: ftp://x, sites: {a b: {}}}":       {"public_url", "sites.a b", "sitemap_url", "title"},
		site("max_item: 3"):                             {"max_item"},
		site("max_items: 0, max_pages: 0, retries: 11"): {"sites.a.max_items", "sites.a.max_pages", "sites.a.retries: 11 is not a number from 0 to 10"},
		site("retry_delay: soon"):                       {"duration"},
		site("cron: 'every day'"):                       {"sites.a.cron"},
		site("cron: '0 0 31 2 *'"):                      {"sites.a.cron: names no day"},
		site("retry_delay: 5"):                          {"duration"},
		site("retry_delay: -5m"):                        {"duration"},
		site("include: ['(']"):                          {"sites.a.include: expression 1"},
		site("exclude: ['a', '[']"):                     {"sites.a.exclude: expression 2"},
		site("sitemap_url: /sitemap.xml"):               {"sites.a.sitemap_url"},
		site("incremental_config: {db_path: x}"):        {"db_path"},
		site("incremental_config: {baseline_items: -1, max_history_days: 0, cleanup_interval_days: 0}"): {"baseline_items", "max_history_days", "cleanup_interval_days"},
		site("updates: true") + "\n---\n{}": {"more than one document"},
		site("cron: x, cron: y"):            {"already defined"},
	} {
		_, err := config.Parse([]byte(text))
		if !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", text, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not name %s", text, err, w)
			}
		}
	}
}

func TestEnvironmentGoesFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(t.TempDir(), "rss.db")
	t.Setenv(config.EnvDatabase, there)
	if f, err := config.Load(path); err != nil || f.Database != there || f.Cache != there+".cache" {
		t.Errorf("%+v, %v", f, err)
	}
	t.Setenv(config.EnvDatabase, "/no/such/folder/rss.db")
	if _, err := config.Load(path); !errors.Is(err, config.ErrInvalid) || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "RSSTRACKER_DB") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := config.Load(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
