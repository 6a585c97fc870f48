package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/call"
)

type newSource struct {
	store.SourceEdit
	OwnerID int64 `json:"owner_id"` // the only user who sees the source if it is not public
}

// addSource adds a source, public by default.
func (a *api) addSource(r *request, n newSource) (any, error) {
	s := store.Source{OwnerID: n.OwnerID, CreatedBy: n.OwnerID, Public: n.Public == nil || *n.Public}
	if n.Name == nil || n.Type == nil {
		return nil, call.Bad("name and type", "both are required")
	}
	if !s.Public && s.OwnerID == 0 {
		return nil, call.Bad("owner_id", "a source that is not public needs an owner: only the owner sees it")
	}
	s.Name, s.Type, s.Config = *n.Name, *n.Type, json.RawMessage(cmp.Or(string(n.Config), "{}"))
	return a.changeSource(r, func(tx *store.Tx) (id int64, err error) {
		if err := a.check(n.SourceEdit, s); err != nil {
			return 0, err
		}
		if id, err = tx.AddSource(r.Context(), s); errors.Is(err, store.ErrNotFound) {
			err = call.Bad("owner_id", "no such user")
		}
		return id, err
	})
}

func (a *api) editSource(r *request, e store.SourceEdit) (any, error) {
	return a.changeSource(r, func(tx *store.Tx) (int64, error) {
		s, err := tx.Source(r.Context(), r.id)
		if err != nil {
			return 0, err
		}
		if e.Public != nil && !*e.Public && s.OwnerID == 0 {
			return 0, call.Bad("is_public", "the source has no owner, so no user would see it; delete it instead")
		}
		s.Type = *cmp.Or(e.Type, &s.Type)
		s.Config = json.RawMessage(cmp.Or(string(e.Config), string(s.Config)))
		if err := a.check(e, s); err != nil {
			return 0, err
		}
		return r.id, tx.EditSource(r.Context(), r.id, e)
	})
}

// changeSource writes to a source, notifies the collectors, and returns the source.
func (a *api) changeSource(r *request, fn func(tx *store.Tx) (int64, error)) (s store.Source, err error) {
	err = a.Store.Write(r.Context(), func(tx *store.Tx) error {
		id, err := fn(tx)
		if err == nil {
			s, err = tx.Source(r.Context(), id)
		}
		return err
	})
	if err != nil {
		return store.Source{}, err
	}
	a.Collector.Tell(r.Context(), s.ID)
	return s, nil
}

const maxName = 200

func text(field string, s *string) error {
	if s != nil && (strings.TrimSpace(*s) == "" || len(*s) > maxName) {
		return call.Bad(field, "%d bytes, want 1 to %d that are not all spaces", len(*s), maxName)
	}
	return nil
}

func (a *api) check(e store.SourceEdit, s store.Source) error {
	if err := text("name", e.Name); err != nil || e.Type == nil && len(e.Config) == 0 {
		return err
	}
	if config := bytes.TrimSpace(s.Config); !json.Valid(config) || config[0] != '{' {
		return call.Bad("config", "%d bytes, want a JSON object", len(config))
	}
	if err := a.Collector.Check(s); err != nil {
		return call.Bad("type or config", "%v", err)
	}
	return nil
}
