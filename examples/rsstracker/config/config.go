// Package config reads the tracker's configuration: one YAML file with any number of
// sites, whose names and defaults are those of the source document where it has them.
// A field that nobody knows is an error, for it is a typing mistake.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// EnvDatabase is the environment variable that says where the database is. It goes
// before the file, so that a container sets it beside its volume.
const EnvDatabase = "RSSTRACKER_DB"

// File is the configuration.
type File struct {
	Database     string          `yaml:"database"`      // the SQLite file. "": rss_incremental.db
	Cache        string          `yaml:"cache"`         // the SQLite file of what was fetched. "": the database's name and .cache
	Output       string          `yaml:"output"`        // the folder of the feeds. "": feeds
	Listen       string          `yaml:"listen"`        // address of serve. "": 127.0.0.1:8082
	PublicURL    string          `yaml:"public_url"`    // where readers find the feeds; required
	UserAgent    string          `yaml:"user_agent"`    // "": one that names the program and public_url
	HostDelay    Duration        `yaml:"host_delay"`    // between two requests to one host. 0: 1s
	AllowPrivate bool            `yaml:"allow_private"` // sites at private addresses may be fetched
	Redis        string          `yaml:"redis"`         // URL of a Redis that takes the place of Cache; "": none
	Sites        map[string]Site `yaml:"sites"`         // by name; at least one
}

// Site is the configuration of one site. One of SitemapURL, SitemapURLs and Home is
// required; so is a title.
type Site struct {
	SitemapURL  string   `yaml:"sitemap_url"`
	SitemapURLs []string `yaml:"sitemap_urls"`
	Home        string   `yaml:"home"` // robots.txt says where the sitemaps are

	Incremental *bool    `yaml:"enable_incremental"` // absent: true
	FetchTitles *bool    `yaml:"fetch_titles"`       // absent: true
	MaxItems    *int     `yaml:"max_items"`          // in the feed. Absent: 50
	MaxPages    *int     `yaml:"max_pages"`          // fetched in one run. Absent: 100
	Include     []string `yaml:"include"`            // regular expressions; none: all
	Exclude     []string `yaml:"exclude"`            // regular expressions
	Selector    string   `yaml:"content_selector"`   // CSS
	Updates     bool     `yaml:"updates"`            // follow lastmod

	Cron   string   `yaml:"cron"`   // "": 0 */2 * * *, every two hours; in UTC unless it begins with CRON_TZ=
	Jitter Duration `yaml:"jitter"` // the run is up to so much later, always the same

	Channel Channel     `yaml:"channel_config"`
	State   Incremental `yaml:"incremental_config"`

	name, publicURL string // of the file, for Track
}

// Channel is what a feed says of itself.
type Channel struct {
	Title       string `yaml:"title"` // required
	Description string `yaml:"description"`
	Link        string `yaml:"link"` // "": the site's home, or the host of its sitemap
	Language    string `yaml:"language"`
	Author      string `yaml:"author"`
	Hub         string `yaml:"hub"`
}

// Incremental is what is kept of a site.
type Incremental struct {
	MaxHistoryDays      *int  `yaml:"max_history_days"`      // absent: 30
	BaselineItems       *int  `yaml:"baseline_items"`        // absent: 10
	CleanupIntervalDays *int  `yaml:"cleanup_interval_days"` // absent: 7
	RetryFailedURLs     *bool `yaml:"retry_failed_urls"`     // absent: true
}

// Duration is a time span as Go writes it: "90s", "2h". A bare number is refused, for
// it does not say of what.
type Duration time.Duration

// UnmarshalYAML implements [yaml.Unmarshaler].
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode || v < 0 {
		return fmt.Errorf("line %d: a duration such as 90s or 2h is wanted", n.Line)
	}
	*d = Duration(v)
	return nil
}

// ErrInvalid is in reach of errors.Is for everything that is wrong with what a
// configuration says.
var ErrInvalid = errors.New("config: invalid")

// Load reads the file at path. The environment variable [EnvDatabase] replaces its
// database.
func Load(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	f, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.Database = cmp.Or(os.Getenv(EnvDatabase), f.Database)
	f.Cache = cmp.Or(f.Cache, f.Database+".cache")
	return f, nil
}

// Parse reads a configuration, fills in what it leaves out, and checks it. The error
// names every fault.
func Parse(b []byte) (*File, error) {
	var f File
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: more than one document", ErrInvalid)
	}
	f.Database = cmp.Or(f.Database, "rss_incremental.db")
	f.Output = cmp.Or(f.Output, "feeds")
	f.Listen = cmp.Or(f.Listen, "127.0.0.1:8082")
	f.HostDelay = cmp.Or(f.HostDelay, Duration(time.Second))
	f.UserAgent = cmp.Or(f.UserAgent, "TwofoldRSSTracker/1.0 (+"+f.PublicURL+")")
	f.PublicURL = strings.TrimRight(f.PublicURL, "/")
	return &f, f.check()
}

// Names returns the names of the sites in order.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Sites)) }

var siteName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// faults gathers what is wrong.
type faults struct{ all []error }

func (x *faults) add(field, problem string) {
	x.all = append(x.all, fmt.Errorf("%w: %s: %s", ErrInvalid, field, problem))
}

func (f *File) check() error {
	var x faults
	if !absolute(f.PublicURL) {
		x.add("public_url", "an http or https URL is wanted")
	}
	if len(f.Sites) == 0 {
		x.add("sites", "at least one is wanted")
	}
	for _, name := range f.Names() {
		s := f.Sites[name]
		s.name, s.publicURL = name, f.PublicURL
		f.Sites[name] = s
		s.check(&x, "sites."+name)
	}
	return errors.Join(x.all...)
}

// absolute reports whether text is a URL to fetch or to link to.
func absolute(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}
