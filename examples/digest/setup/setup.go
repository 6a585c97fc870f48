// Package setup fills a database from a file: the sources, packs and users that a
// program begins with, or that are added to it.
package setup

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// ErrFile is wrapped by what is wrong with a file.
var ErrFile = errors.New("setup: bad file")

// maxFile is the longest file that is read, in bytes.
const maxFile = 16 << 20

// File is what stands in a file, as JSON. Sources, packs and users refer to each other by
// the names of sources and the slugs of packs and users.
type File struct {
	Sources []Source `json:"sources"`
	Packs   []Pack   `json:"packs"`
	Users   []User   `json:"users"`
}

// Source is a source. Two of one type with equal configs are one, however these are spelled,
// and also when it has moved since.
type Source struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	Config  json.RawMessage `json:"config"`
	Private string          `json:"private_to"` // the slug of the user who alone may see it; empty: everybody
}

// Pack is a set of sources that is installed in one step.
type Pack struct {
	Slug        string   `json:"slug"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Default     bool     `json:"default"` // what a new user starts with
	Sources     []string `json:"sources"`
}

// User is somebody who reads digests.
type User struct {
	Slug    string          `json:"slug"`
	Name    string          `json:"name"`
	Email   string          `json:"email"`
	Options json.RawMessage `json:"options"` // see digest.ParseOptions
	Packs   []string        `json:"packs"`   // beside the default one
	Sources []string        `json:"sources"`
}

// Done is what an import did. What was there already is not counted.
type Done struct {
	Sources, Packs, Users int

	// Keys are the API keys of the new users, by slug. They are stored nowhere.
	Keys map[string]string
}

// Read reads a file. A field that nobody knows is an error, as is anything after the end.
func Read(r io.Reader) (f File, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return f, err
	}
	if len(data) > maxFile {
		return f, fmt.Errorf("%w: more than %d bytes", ErrFile, maxFile)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return f, fmt.Errorf("%w: something follows its end", ErrFile)
	}
	return f, nil
}

// Import brings what the file holds into the database, all of it or nothing. What is
// there already stays as it is, so a file may be imported again. Whoever collects on the
// database has to be told that sources have changed.
func Import(ctx context.Context, s *store.Store, f File) (Done, error) {
	var im importer
	err := s.Write(ctx, func(tx *store.Tx) error {
		im = importer{tx: tx, ids: map[string]int64{}, users: map[string]int64{}, done: Done{Keys: map[string]string{}}}
		return im.run(ctx, f)
	})
	if err != nil {
		return Done{}, err
	}
	return im.done, nil
}

type importer struct {
	tx    *store.Tx
	ids   map[string]int64 // of sources, by name
	users map[string]int64 // by slug
	done  Done
}

// run adds public sources, packs, users, and then what needs a user to be there.
func (im *importer) run(ctx context.Context, f File) error {
	known, err := im.known(ctx)
	if err != nil {
		return err
	}
	if err := im.sources(ctx, f.Sources, known, func(s Source) bool { return s.Private == "" }); err != nil {
		return err
	}
	for i, p := range f.Packs {
		if err := im.pack(ctx, p); err != nil {
			return fmt.Errorf("packs[%d]: %w", i, err)
		}
	}
	for i, u := range f.Users {
		if err := im.user(ctx, u); err != nil {
			return fmt.Errorf("users[%d]: %w", i, err)
		}
	}
	if err := im.sources(ctx, f.Sources, known, func(s Source) bool { return s.Private != "" }); err != nil {
		return err
	}
	for i, u := range f.Users {
		if err := im.subscribe(ctx, u); err != nil {
			return fmt.Errorf("users[%d]: %w", i, err)
		}
	}
	return nil
}

// identity tells sources apart. Configs are compared in canonical form (RFC 8785).
type identity struct {
	typ, config string
	owner       int64
}

func identify(typ string, config json.RawMessage, owner int64) (identity, error) {
	canonical, err := jcs.Transform(config)
	if err != nil {
		return identity{}, fmt.Errorf("%w: config: %w", ErrFile, err)
	}
	return identity{typ, string(canonical), owner}, nil
}

// known returns the sources that are there. One that has moved is known by what it was
// added with.
func (im *importer) known(ctx context.Context) (map[identity]int64, error) {
	all, err := im.tx.FetchStates(ctx)
	known := make(map[identity]int64, len(all))
	for _, s := range all {
		// What has no canonical form, by a number out of bounds, is no source of a file.
		if id, err := identify(s.Type, added(s.Config), s.OwnerID); err == nil {
			known[id] = s.ID
		}
	}
	return known, err
}

// added returns the config that a source was added with.
func added(config json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err != nil || fields[store.MovedFrom] == nil {
		return config
	}
	fields["url"] = fields[store.MovedFrom]
	delete(fields, store.MovedFrom)
	was, err := json.Marshal(fields)
	if err != nil {
		return config
	}
	return was
}

func (im *importer) sources(ctx context.Context, all []Source, known map[identity]int64, wanted func(Source) bool) error {
	for i, s := range all {
		if !wanted(s) {
			continue
		}
		if err := im.source(ctx, s, known); err != nil {
			return fmt.Errorf("sources[%d]: %w", i, err)
		}
	}
	return nil
}

func (im *importer) source(ctx context.Context, s Source, known map[identity]int64) error {
	if s.Name == "" {
		return fmt.Errorf("%w: name is empty", ErrFile)
	}
	if _, twice := im.ids[s.Name]; twice {
		return fmt.Errorf("%w: a second source has the name %q", ErrFile, s.Name)
	}
	var owner int64
	if s.Private != "" {
		var err error
		if owner, err = im.userID(ctx, s.Private); err != nil {
			return fmt.Errorf("private_to: %w", err)
		}
	}
	if len(s.Config) == 0 {
		s.Config = json.RawMessage("{}")
	}
	if s.Config[0] != '{' {
		return fmt.Errorf("%w: config is no JSON object", ErrFile)
	}
	same, err := identify(s.Type, s.Config, owner)
	if err != nil {
		return err
	}
	id, ok := known[same]
	if !ok {
		id, err = im.tx.AddSource(ctx, store.Source{
			Name: s.Name, Type: s.Type, Config: s.Config, OwnerID: owner, CreatedBy: owner, Public: owner == 0,
		})
		if err != nil {
			return err
		}
		known[same] = id
		im.done.Sources++
	}
	im.ids[s.Name] = id
	return nil
}

func (im *importer) pack(ctx context.Context, p Pack) error {
	if _, err := im.tx.PackBySlug(ctx, p.Slug); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	ids, err := im.named(p.Sources)
	if err != nil {
		return err
	}
	im.done.Packs++
	_, err = im.tx.AddPack(ctx, store.Pack{Slug: p.Slug, Name: p.Name, Description: p.Description, Default: p.Default, SourceIDs: ids})
	return err
}

func (im *importer) user(ctx context.Context, u User) error {
	id, err := im.userID(ctx, u.Slug)
	if !errors.Is(err, store.ErrNotFound) {
		im.users[u.Slug] = id
		return err
	}
	if err := u.check(); err != nil {
		return err
	}
	key := rand.Text()
	id, err = im.tx.AddUser(ctx, store.User{Slug: u.Slug, Name: u.Name, Email: u.Email, Options: u.Options, APIKeyHash: store.HashKey(key)})
	im.users[u.Slug] = id
	im.done.Users++
	im.done.Keys[u.Slug] = key
	return err
}

// check refuses what a user could only find out about later: by never getting a digest, or
// by having no feed of one's own.
func (u *User) check() error {
	if _, err := digest.ParseOptions(u.Options); err != nil {
		return fmt.Errorf("%w: options: %w", ErrFile, err)
	}
	// /feed/SLUG is the page, and with .rss or .json at its end another form of it.
	if u.Slug == "." || u.Slug == ".." || strings.HasSuffix(u.Slug, ".rss") || strings.HasSuffix(u.Slug, ".json") {
		return fmt.Errorf("%w: slug of %d bytes, must not be . or .. nor end in .rss or .json", ErrFile, len(u.Slug))
	}
	return nil
}

func (im *importer) userID(ctx context.Context, slug string) (int64, error) {
	u, err := im.tx.UserBySlug(ctx, slug)
	if errors.Is(err, store.ErrNotFound) {
		return 0, fmt.Errorf("user %q: %w", slug, err)
	}
	return u.ID, err
}

// subscribe gives a user what the file says: to one who was there before, too.
func (im *importer) subscribe(ctx context.Context, u User) error {
	id := im.users[u.Slug]
	for _, slug := range u.Packs {
		if _, err := im.tx.InstallPack(ctx, id, slug); err != nil {
			return fmt.Errorf("pack %q: %w", slug, err)
		}
	}
	ids, err := im.named(u.Sources)
	if err != nil || len(ids) == 0 {
		return err
	}
	return im.tx.Subscribe(ctx, id, ids...)
}

func (im *importer) named(names []string) (ids []int64, err error) {
	for _, name := range names {
		id, ok := im.ids[name]
		if !ok {
			return nil, fmt.Errorf("%w: no source of the file has the name %q", ErrFile, name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
