package api

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/examples/internal/call"
)

type given struct {
	Type     string                     `json:"type"`
	UserID   int64                      `json:"user_id"`
	Content  string                     `json:"content"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Private  bool                       `json:"private"` // only the user's key shows it
}

type generated struct {
	State  digest.State  `json:"state"`
	Origin digest.Origin `json:"origin,omitempty"`
	Hash   string        `json:"combination_hash,omitempty"` // of sources and options
	Start  time.Time     `json:"period_start,omitzero"`
	End    time.Time     `json:"period_end,omitzero"`
	Digest *store.Digest `json:"digest"` // null if the period has no items
}

func (a *api) postDigest(r *request, in given) (any, error) {
	kind, err := digest.ParseKind(in.Type)
	switch {
	case err != nil:
		return nil, call.Bad("type", "%d bytes, must be one of %v", len(in.Type), digest.Kinds())
	case r.who.operator:
		return a.put(r, in)
	case in.UserID != 0 || in.Content != "" || in.Metadata != nil || in.Private:
		return nil, &call.Problem{Status: http.StatusForbidden, Text: "user_id, content, metadata and private are for the operator's key"}
	}
	res, err := a.Digests.Generate(r.Context(), digest.Request{UserID: r.who.user.ID, Kind: kind})
	if err != nil {
		// The request is valid, so the model or the database has failed. Nothing was stored.
		a.Log.ErrorContext(r.Context(), "the digest could not be generated", "user", r.who.user.ID, "type", kind, "err", err)
		return nil, a.later(err)
	}
	out := generated{State: res.State, Origin: res.Origin, Hash: res.Hash, Start: res.Window.Start, End: res.Window.End}
	if res.State == digest.Ready {
		out.Digest = &res.Row
	}
	return out, nil
}

// later returns the answer for a digest that cannot be generated now.
func (a *api) later(err error) error {
	p := &call.Problem{Status: http.StatusServiceUnavailable, Text: "the digest cannot be written now; try again later", After: time.Minute}
	if e, ok := errors.AsType[*summary.RateLimitError](err); ok {
		p.After = time.Until(e.Until)
	}
	p.After = max(p.After, time.Second)
	return p
}

var ofTheProgram = []string{"period_start", "period_end", "source_ids", "public"}

// put stores an operator's digest. It has no period, so no cache uses it. The public feed shows
// it, unless it is private.
func (a *api) put(r *request, in given) (any, error) {
	if in.UserID < 1 {
		return nil, call.Bad("user_id", "%d, want the id of a user", in.UserID)
	}
	if strings.TrimSpace(in.Content) == "" {
		return nil, call.Bad("content", "%d bytes, want a text in Markdown", len(in.Content))
	}
	for name := range in.Metadata {
		own := func(s string) bool { return strings.EqualFold(s, name) } // as package json matches names
		if slices.ContainsFunc(ofTheProgram, own) {
			return nil, call.Bad("metadata", "%s is set by the program", name)
		}
	}
	meta := maps.Clone(in.Metadata)
	if !in.Private {
		if meta == nil {
			meta = map[string]json.RawMessage{}
		}
		meta["public"] = json.RawMessage("true")
	}
	row := store.Digest{UserID: in.UserID, Type: in.Type, Content: in.Content}
	var err error
	if meta != nil {
		if row.Metadata, err = json.Marshal(meta); err != nil {
			return nil, err
		}
	}
	err = a.Store.Write(r.Context(), func(tx *store.Tx) (err error) {
		row, err = tx.PutDigest(r.Context(), row)
		return err
	})
	return generated{State: digest.Ready, Digest: &row}, err
}
