// Package config reads the tracker's YAML file, with the source document's names and defaults.
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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// EnvDatabase is the environment variable that replaces the database of the file.
const EnvDatabase = "RSSTRACKER_DB"

// File is the configuration.
type File struct {
	Database     string          `yaml:"database"`      // the SQLite file. "" means rss_incremental.db
	Cache        string          `yaml:"cache"`         // the SQLite file of the HTTP cache. "" means the database's name and .cache
	Output       string          `yaml:"output"`        // the folder of the feeds. "" means feeds
	Listen       string          `yaml:"listen"`        // address of serve. "" means 127.0.0.1:8082
	PublicURL    string          `yaml:"public_url"`    // the URL under which readers find the feeds; required
	UserAgent    string          `yaml:"user_agent"`    // "" means one that names the program and public_url
	HostDelay    Duration        `yaml:"host_delay"`    // between two requests to one host. Zero means 1s
	Lease        Duration        `yaml:"lease"`         // how long a killed run keeps its site locked; must exceed the time of one page. Zero means 10m
	AllowPrivate bool            `yaml:"allow_private"` // allows sites at private addresses
	Sites        map[string]Site `yaml:"sites"`         // by name; at least one
}

// Duration is a time span in the syntax of Go: "90s", "2h". A number without a unit is an error.
type Duration time.Duration

// UnmarshalYAML implements [yaml.Unmarshaler].
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode || v < 0 {
		return fmt.Errorf("line %d: %q is not a duration such as 90s or 2h", n.Line, n.Value)
	}
	*d = Duration(v)
	return nil
}

// ErrInvalid is wrapped by every error about the content of a configuration.
var ErrInvalid = errors.New("config: invalid")

// Load reads the file at path. The environment variable [EnvDatabase] overrides its database.
func Load(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	f, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	field := "database"
	if env := os.Getenv(EnvDatabase); env != "" {
		field, f.Database = EnvDatabase, env
	}
	if _, err := os.Stat(filepath.Dir(f.Database)); err != nil {
		return nil, fmt.Errorf("%w: %s: the folder of %q cannot be used; create it: %w", ErrInvalid, field, f.Database, err)
	}
	f.Cache = cmp.Or(f.Cache, f.Database+".cache")
	if own, db := filepath.Clean(f.Cache), filepath.Clean(f.Database); own == db || strings.HasPrefix(own, db+"-") {
		return nil, fmt.Errorf("%w: cache: %q is the database, or a file beside it; name another file, or omit the field", ErrInvalid, f.Cache)
	}
	return f, nil
}

// Parse reads a configuration and fills in the defaults. The error names every fault.
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
	f.PublicURL = strings.TrimRight(f.PublicURL, "/")
	f.UserAgent = cmp.Or(f.UserAgent, "TwofoldRSSTracker/1.0 (+"+f.PublicURL+")")
	x := faults{}
	x.url("public_url", f.PublicURL, true)
	if len(f.Sites) == 0 {
		x.add("sites", "none; name at least one")
	}
	for _, name := range f.Names() {
		s := f.Sites[name]
		s.Name = name
		s.check(&x, "sites."+name)
		f.Sites[name] = s.filled(f.PublicURL)
	}
	return &f, errors.Join(x.all...)
}

// Names returns the names of the sites in order.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Sites)) }

type faults struct{ all []error }

func (x *faults) add(field, problem string) {
	x.all = append(x.all, fmt.Errorf("%w: %s: %s", ErrInvalid, field, problem))
}

func (x *faults) url(field, text string, required bool) {
	u, err := url.Parse(text)
	if text == "" && !required || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil {
		return
	}
	x.add(field, "not an http or https URL such as https://example.com/")
}
