// Package manage makes the operator's changes to sources and users, by command or by HTTP.
package manage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// FieldError says which field is wrong, and what its value must be.
type FieldError struct{ Field, Problem string }

// Error returns "field: problem".
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Manager changes sources and users.
type Manager struct {
	Store   *store.Store
	Changed func(ctx context.Context) error // called after sources changed
	// Address returns the URL that a source of the given type and config is fetched from.
	// It is empty for a type without a fetcher.
	Address func(kind string, config json.RawMessage) (string, error)
}

// NewSource is a source to add.
type NewSource struct {
	store.SourceEdit
	OwnerID int64 `json:"owner_id"` // the only user who sees the source if it is not public
}

// AddSource adds a source. It is public by default.
func (m *Manager) AddSource(ctx context.Context, n NewSource) (store.Source, error) {
	s := store.Source{OwnerID: n.OwnerID, CreatedBy: n.OwnerID, Public: n.Public == nil || *n.Public, Config: n.Config}
	if n.Name == nil || n.Type == nil {
		return s, &FieldError{"name and type", "both are required"}
	}
	if !s.Public && s.OwnerID == 0 {
		return s, &FieldError{"owner_id", "a source that is not public needs an owner: only the owner sees it"}
	}
	s.Name, s.Type, s.Config = *n.Name, *n.Type, json.RawMessage(cmp.Or(string(n.Config), "{}"))
	return m.change(ctx, func(tx *store.Tx) (id int64, err error) {
		if err := m.check(n.SourceEdit, s); err != nil {
			return 0, err
		}
		if id, err = tx.AddSource(ctx, s); errors.Is(err, store.ErrNotFound) {
			err = &FieldError{"owner_id", "no such user"}
		}
		return id, err
	})
}

// EditSource changes a source's name, type, config or visibility.
func (m *Manager) EditSource(ctx context.Context, id int64, e store.SourceEdit) (store.Source, error) {
	return m.change(ctx, func(tx *store.Tx) (int64, error) {
		s, err := tx.Source(ctx, id)
		if err != nil {
			return 0, err
		}
		if e.Public != nil && !*e.Public && s.OwnerID == 0 {
			return 0, &FieldError{"is_public", "the source has no owner, so no user would see it; delete it instead"}
		}
		s.Type = *cmp.Or(e.Type, &s.Type)
		s.Config = json.RawMessage(cmp.Or(string(e.Config), string(s.Config)))
		if err := m.check(e, s); err != nil {
			return 0, err
		}
		return id, tx.EditSource(ctx, id, e)
	})
}

// DeleteSource hides a source and its items from users.
func (m *Manager) DeleteSource(ctx context.Context, id int64) (store.Source, error) {
	return m.change(ctx, func(tx *store.Tx) (int64, error) { return id, tx.DeleteSource(ctx, id) })
}

// RestoreSource undoes DeleteSource.
func (m *Manager) RestoreSource(ctx context.Context, id int64) (store.Source, error) {
	return m.change(ctx, func(tx *store.Tx) (int64, error) { return id, tx.RestoreSource(ctx, id) })
}

func (m *Manager) change(ctx context.Context, fn func(tx *store.Tx) (int64, error)) (s store.Source, err error) {
	err = m.Store.Write(ctx, func(tx *store.Tx) error {
		id, err := fn(tx)
		if err == nil {
			s, err = tx.Source(ctx, id)
		}
		return err
	})
	if err != nil {
		return store.Source{}, err
	}
	return s, m.Changed(ctx)
}

const maxName = 200

func text(field string, s *string) error {
	if s != nil && (strings.TrimSpace(*s) == "" || len(*s) > maxName) {
		return &FieldError{field, fmt.Sprintf("%d bytes, want 1 to %d that are not all spaces", len(*s), maxName)}
	}
	return nil
}

func (m *Manager) check(e store.SourceEdit, s store.Source) error {
	if err := text("name", e.Name); err != nil || e.Type == nil && len(e.Config) == 0 {
		return err
	}
	if config := bytes.TrimSpace(s.Config); !json.Valid(config) || config[0] != '{' {
		return &FieldError{"config", fmt.Sprintf("%d bytes, want a JSON object", len(config))}
	}
	address, err := m.Address(s.Type, s.Config)
	if err != nil {
		return &FieldError{"type or config", err.Error()}
	}
	if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return &FieldError{"config", "its address must be one of http or https, with a host"}
	}
	return nil
}

// EditUser changes a user's name, email, slug or options.
func (m *Manager) EditUser(ctx context.Context, id int64, e store.UserEdit) (u store.User, err error) {
	if err := errors.Join(text("name", e.Name), text("email", e.Email), text("slug", e.Slug)); err != nil {
		return u, err
	}
	if e.Slug != nil {
		if err := CheckSlug(*e.Slug); err != nil {
			return u, err
		}
	}
	if string(e.Options) == "null" { // as for the other fields, null means no change
		e.Options = nil
	}
	if _, err := digest.ParseOptions(e.Options); err != nil {
		return u, &FieldError{"options", err.Error()}
	}
	err = m.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.EditUser(ctx, id, e); err != nil {
			return err
		}
		u, err = tx.User(ctx, id)
		return err
	})
	return u, err
}

// CheckSlug refuses a slug that cannot have a feed: /feed/SLUG is the page, /feed/SLUG.rss the RSS.
func CheckSlug(slug string) error {
	if slug == "." || slug == ".." || strings.HasSuffix(slug, ".rss") {
		return &FieldError{"slug", fmt.Sprintf("%d bytes, must not be . or .. nor end in .rss", len(slug))}
	}
	return nil
}

// RemoveUser removes a user with its subscriptions, digests and key.
func (m *Manager) RemoveUser(ctx context.Context, id int64) error {
	return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteUser(ctx, id) })
}
