// Package setup fills a database from a JSON file of sources, packs and users.
package setup

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/twofold-go/twofold/examples/digest/api"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/call"
)

// ErrFile is wrapped by errors about the content of a file.
var ErrFile = errors.New("setup: bad file")

// File is the content of a file.
type File struct {
	Sources []Source `json:"sources"`
	Packs   []Pack   `json:"packs"`
	Users   []User   `json:"users"`
}

// Source is a source.
type Source struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	Config  json.RawMessage `json:"config"`
	Private string          `json:"private_to"` // slug of the only user who may see it; empty means public
}

// Pack is a set of sources that is installed in one step.
type Pack struct {
	Slug        string   `json:"slug"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Default     bool     `json:"default"` // new users start with this pack
	Sources     []string `json:"sources"`
}

// User is a reader of digests.
type User struct {
	Slug    string          `json:"slug"`
	Name    string          `json:"name"`
	Email   string          `json:"email"`
	Options json.RawMessage `json:"options"` // see digest.ParseOptions
	Packs   []string        `json:"packs"`   // in addition to the default pack
	Sources []string        `json:"sources"`
}

// Done is the result of an import.
type Done struct {
	Sources, Packs, Users int
	Keys                  map[string]string // the API keys of new users by slug; the database stores only their hashes
	Deleted               map[string]int64  // the ids of the file's sources that were deleted, by name: they stay deleted
}

// Read reads a file.
func Read(r io.Reader) (f File, err error) {
	if err = call.Strict(r, &f); err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return f, nil
}

// Import adds the sources, packs and users that the database lacks, all or none. Sources that
// were deleted and subscriptions that were ended stay so. The caller must then notify the
// collectors.
func Import(ctx context.Context, s *store.Store, f File) (Done, error) {
	im := importer{
		ctx: ctx, file: f, known: map[string]int64{}, deleted: map[int64]bool{}, ids: map[string]int64{}, users: map[string]int64{},
		done: Done{Keys: map[string]string{}, Deleted: map[string]int64{}},
	}
	err := s.Write(ctx, im.run)
	return im.done, err
}

type importer struct {
	ctx     context.Context
	tx      *store.Tx
	file    File
	known   map[string]int64 // sources of the database, by identity
	deleted map[int64]bool   // those of known that were deleted
	ids     map[string]int64 // sources of the file, by name
	users   map[string]int64 // by slug
	done    Done
}

func (im *importer) run(tx *store.Tx) error {
	im.tx = tx
	all, err := tx.AllSources(im.ctx)
	for _, s := range all {
		if !s.Public && s.OwnerID == 0 { // it was private to a user who was deleted
			continue
		}
		im.deleted[s.ID] = s.Deleted
		if own, err := identity(s.Type, s.Config, s.OwnerID); err == nil && (im.known[own] == 0 || !s.Deleted) {
			im.known[own] = s.ID
		}
	}
	err = each(err, "users", im.file.Users, im.user)
	err = each(err, "sources", im.file.Sources, im.source)
	err = each(err, "packs", im.file.Packs, im.pack)
	return each(err, "users", im.file.Users, im.subscribe)
}

func each[T any](err error, name string, all []T, fn func(T) error) error {
	for i := 0; i < len(all) && err == nil; i++ {
		if err = fn(all[i]); err != nil {
			err = fmt.Errorf("%s[%d]: %w", name, i, err)
		}
	}
	return err
}

// identity returns the same text for equal sources. A source that has moved is identified
// by its original url.
func identity(typ string, config json.RawMessage, owner int64) (string, error) {
	var fields map[string]any
	if err := json.Unmarshal(config, &fields); err != nil || fields == nil {
		return "", fmt.Errorf("%w: config is not a JSON object", ErrFile)
	}
	if was, ok := fields[store.MovedFrom]; ok {
		fields["url"] = was
		delete(fields, store.MovedFrom)
	}
	sorted, err := json.Marshal(fields)
	return fmt.Sprintf("%s %d %s", typ, owner, sorted), err
}

func (im *importer) user(u User) error {
	if _, twice := im.users[u.Slug]; twice {
		return fmt.Errorf("%w: slug %q occurs twice", ErrFile, u.Slug)
	}
	known, err := im.tx.UserBySlug(im.ctx, u.Slug)
	im.users[u.Slug] = known.ID
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if _, err := digest.ParseOptions(u.Options); err != nil {
		return fmt.Errorf("%w: options: %w", ErrFile, err)
	}
	if err := api.CheckSlug(u.Slug); err != nil {
		return fmt.Errorf("%w: slug: %w", ErrFile, err)
	}
	key := rand.Text()
	im.users[u.Slug], err = im.tx.AddUser(im.ctx, store.User{
		Slug: u.Slug, Name: u.Name, Email: u.Email, Options: u.Options, APIKeyHash: store.HashKey(key),
	})
	im.done.Users++
	im.done.Keys[u.Slug] = key
	return err
}

func (im *importer) source(s Source) (err error) {
	if _, twice := im.ids[s.Name]; twice || s.Name == "" {
		return fmt.Errorf("%w: name %q is empty or occurs twice", ErrFile, s.Name)
	}
	var owner store.User
	if s.Private != "" {
		if owner, err = im.tx.UserBySlug(im.ctx, s.Private); err != nil {
			return fmt.Errorf("private_to: user %q: %w", s.Private, err)
		}
	}
	s.Config = json.RawMessage(cmp.Or(string(s.Config), "{}"))
	own, err := identity(s.Type, s.Config, owner.ID)
	if err != nil {
		return err
	}
	if err := fetchers.Check(fetchers.New(fetchers.Config{}), fetchers.Source{Type: s.Type, Config: s.Config}); err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	if _, ok := im.known[own]; !ok {
		im.known[own], err = im.tx.AddSource(im.ctx, store.Source{
			Name: s.Name, Type: s.Type, Config: s.Config, OwnerID: owner.ID, CreatedBy: owner.ID, Public: owner.ID == 0,
		})
		im.done.Sources++
	}
	id := im.known[own]
	if im.ids[s.Name] = id; im.deleted[id] {
		im.done.Deleted[s.Name] = id
	}
	return err
}

func (im *importer) pack(p Pack) error {
	if _, err := im.tx.PackID(im.ctx, p.Slug); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	ids, err := im.named(p.Sources)
	if err != nil {
		return err
	}
	im.done.Packs++
	_, err = im.tx.AddPack(im.ctx, store.Pack{Slug: p.Slug, Name: p.Name, Description: p.Description, Default: p.Default, SourceIDs: ids})
	return err
}

func (im *importer) subscribe(u User) error {
	id, packs := im.users[u.Slug], u.Packs
	ended, err := im.tx.Ended(im.ctx, id)
	if err != nil {
		return err
	}
	for _, p := range im.file.Packs {
		if p.Default && im.done.Keys[u.Slug] != "" {
			packs = append([]string{p.Slug}, packs...)
		}
	}
	for _, slug := range packs {
		if _, err := im.tx.InstallPack(im.ctx, id, slug, ended...); err != nil {
			return fmt.Errorf("pack %q: %w", slug, err)
		}
	}
	ids, err := im.named(u.Sources)
	ids = slices.DeleteFunc(ids, func(source int64) bool { return im.deleted[source] || slices.Contains(ended, source) })
	if err != nil || len(ids) == 0 {
		return err
	}
	return im.tx.Subscribe(im.ctx, id, ids...)
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
