package cachez

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/invalidate"
)

// maxListed is how many names one list shows.
const maxListed = 200

// finding is the result of a look-up.
type finding struct {
	target

	Entry *entry `json:"entry,omitempty"` // of one key or URL

	Keys []string `json:"keys,omitempty"` // of several
	More int      `json:"more,omitempty"` // keys that do not fit
}

// Past reports whether requests bypass the cache.
func (f *finding) Past() bool { return f.Entry != nil && f.Entry.State == "bypass" }

// entry describes the entry of one key.
type entry struct {
	Key   string   `json:"key,omitempty"`
	State string   `json:"state"` // fresh, stale, absent; unknown (no index); bypass
	Age   *float64 `json:"age_seconds,omitempty"`
	Tags  []tag    `json:"tags,omitempty"`
	More  int      `json:"more_tags,omitempty"` // tags that do not fit
}

// tag is a tag of an entry. For a value from the remote tier, only the hash of a tag may be
// known.
type tag struct {
	Tenant string `json:"tenant,omitempty"`
	Name   string `json:"name"` // or "#" and a hash
}

// look answers a look-up.
func (h *handler) look(r *http.Request, query url.Values) (*finding, error) {
	t, err := h.targetOf(r, query, lookups)
	if err != nil {
		return nil, err
	}
	f := &finding{target: *t}
	switch {
	case t.By == "url":
		page, ok := h.Pages.Key(t.client)
		if !ok {
			f.Entry = &entry{State: "bypass"}
			return f, nil
		}
		f.Entry = h.entryOf(page.Text())
		return f, nil
	case h.Index == nil:
		return nil, faultf(http.StatusConflict, "field %s: this program has no index of its keys: set Config.Index and the hooks of the Tiers", t.By)
	case t.By == "key":
		f.Entry = h.entryOf(t.Value)
		return f, nil
	}
	keys, err := h.keysOf(r.Context(), t.scopes)
	if err != nil {
		return nil, err
	}
	n := min(len(keys), maxListed)
	f.Keys, f.More = keys[:n], len(keys)-n
	return f, nil
}

// keysOf returns the keys in this process that the scopes cover, sorted. One call runs at a time: each
// may list a million keys.
func (h *handler) keysOf(ctx context.Context, scopes []invalidate.Scope) (keys []string, err error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, faultf(http.StatusServiceUnavailable, "the request ended before its turn: one look-up runs at a time; send it again")
	}
	for _, s := range scopes {
		keys = append(keys, h.Index.KeysOf(s)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// entryOf describes the entry of a key.
func (h *handler) entryOf(full string) *entry {
	e := &entry{Key: full, State: "unknown"}
	if h.Index == nil {
		return e
	}
	found, ok := h.Index.EntryOf(full)
	if !ok {
		e.State = "absent"
		return e
	}
	if e.State = "fresh"; found.Stale() {
		e.State = "stale"
	}
	e.Age = new(secondsOf(found.Age()))
	tags := h.Index.TagsOf(full)
	n := min(len(tags), maxListed)
	for _, text := range tags[:n] {
		tenant, name, ok := strings.Cut(text, ":")
		if !ok {
			tenant, name = "", text
		}
		e.Tags = append(e.Tags, tag{tenant, name})
	}
	e.More = len(tags) - n
	return e
}

// count returns how many entries of this process the target covers, or nil if that is unknown.
func (h *handler) count(ctx context.Context, t *target) (*int, error) {
	if h.Index == nil || t.By == "path" { // only Pages knows the keys of a path
		return nil, nil
	}
	scopes := t.scopes
	if t.By == "url" {
		if page, ok := h.Pages.Key(t.client); ok {
			scopes = []invalidate.Scope{page}
		}
	}
	keys, err := h.keysOf(ctx, scopes)
	return new(len(keys)), err
}
