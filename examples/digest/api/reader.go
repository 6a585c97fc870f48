package api

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/call"
)

type subscriptions struct {
	Hash      string  `json:"subscription_hash"` // of the sources, without the user's options
	Count     int     `json:"source_count"`
	SourceIDs []int64 `json:"source_ids"` // ascending
	Offered   *int    `json:"offered,omitempty"`
}

func (a *api) subscriptions(r *request) (subscriptions, error) {
	s, err := a.Store.Subscriptions(r.Context(), r.who.user.ID)
	return subscriptions{Hash: s.Hash, Count: len(s.SourceIDs), SourceIDs: append([]int64{}, s.SourceIDs...)}, err
}

func (a *api) change(r *request, fn func(tx *store.Tx) error) (subscriptions, error) {
	if err := a.Store.Write(r.Context(), fn); err != nil {
		return subscriptions{}, err
	}
	return a.subscriptions(r)
}

const maxSubscribe = 1000

type wanted struct {
	SourceIDs []int64 `json:"source_ids"`
}

func (a *api) subscribe(r *request, in wanted) (any, error) {
	if n := len(in.SourceIDs); n == 0 || n > maxSubscribe {
		return nil, call.Bad("source_ids", "%d ids, want 1 to %d", n, maxSubscribe)
	}
	return a.change(r, func(tx *store.Tx) error { return tx.Subscribe(r.Context(), r.who.user.ID, in.SourceIDs...) })
}

func (a *api) install(r *request) (any, error) {
	var offered int
	s, err := a.change(r, func(tx *store.Tx) (err error) {
		offered, err = tx.InstallPack(r.Context(), r.who.user.ID, r.PathValue("slug"))
		return err
	})
	s.Offered = &offered
	return s, err
}

// source is a source as users see it, without its config, which may hold keys.
type source struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Public bool   `json:"is_public"`
	Active bool   `json:"is_active"`
	*fetching
}

type fetching struct {
	IntervalMinutes int64      `json:"fetch_interval_minutes"`
	NextFetchAt     *time.Time `json:"next_fetch_at"` // null means immediately, or never
	Status          string     `json:"status"`
}

// sources lists the sources that the caller may subscribe to. The operator sees the public ones.
func (a *api) sources(r *request) (any, error) {
	var visible []source
	all, err := a.Store.FetchStates(r.Context())
	for _, s := range all {
		if !s.Public && (s.OwnerID == 0 || s.OwnerID != r.who.user.ID) {
			continue
		}
		out := source{ID: s.ID, Name: s.Name, Type: s.Type, Public: s.Public, Active: s.Active}
		if r.who.known() {
			st := a.Collector.SourceStatus(s)
			out.fetching = &fetching{st.IntervalMinutes, st.NextFetchAt, st.Status}
		}
		visible = append(visible, out)
	}
	return call.List("sources", visible, err)
}

const maxItems, maxMaterial = 200, 500

func (a *api) rawItems(r *request) (any, error) {
	f := store.ItemFilter{
		User: r.who.user.ID, All: r.who.operator, Source: int64(r.query.Number("source_id", 0, 1, math.MaxInt)),
		Limit: r.query.Number("limit", 50, 1, maxItems), Offset: r.query.Number("offset", 0, 0, math.MaxInt), Since: r.query.Time("since", a.Digests.Location()),
	}
	if err := r.query.Err(); err != nil {
		return nil, err
	}
	items, err := a.Store.RawItems(r.Context(), f)
	return call.List("items", items, err)
}

func (a *api) forDigest(r *request) (any, error) {
	limit, since, kind := r.query.Number("limit", maxMaterial, 1, maxMaterial), r.query.Time("since", a.Digests.Location()), r.kind(digest.Daily)
	if r.query.Text("since") != "" && r.query.Text("type") != "" {
		r.query.Fault("since", "it excludes type, want one of them")
	}
	if err := r.query.Err(); err != nil {
		return nil, err
	}
	if since.IsZero() {
		return a.Digests.Material(r.Context(), digest.Request{UserID: r.who.user.ID, Kind: kind}, limit)
	}
	s, err := a.Store.Subscriptions(r.Context(), r.who.user.ID)
	if err != nil {
		return nil, err
	}
	now := a.Store.Now()
	items, err := a.Store.Items(r.Context(), s.SourceIDs, since, now, limit)
	return digest.Material{Hash: s.Hash, Start: since.UTC(), End: now.UTC(), Items: append([]store.Item{}, items...)}, err
}

func (r *request) kind(unset digest.Kind) digest.Kind {
	s := r.query.Text("type")
	if s != "" && !slices.Contains(digest.Kinds(), digest.Kind(s)) {
		r.query.Fault("type", "%d bytes, must be one of %v", len(s), digest.Kinds())
	}
	return cmp.Or(digest.Kind(s), unset)
}

func (a *api) digests(r *request) (any, error) {
	kind, limit := r.kind(""), r.query.Number("limit", 20, 1, 100)
	if err := r.query.Err(); err != nil {
		return nil, err
	}
	all, err := a.Store.Digests(r.Context(), r.who.user.ID, string(kind), limit)
	return call.List("digests", all, err)
}
