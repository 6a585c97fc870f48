package api

import (
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// source is a source as users see it. There is no config in it, which may hold keys.
type source struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Public bool   `json:"is_public"`
	Active bool   `json:"is_active"`
	*fetching
}

// fetching is what only those with a key learn.
type fetching struct {
	IntervalMinutes int64      `json:"fetch_interval_minutes"`
	NextFetchAt     *time.Time `json:"next_fetch_at"` // null: at once, or not at all
	Status          string     `json:"status"`
}

// sources lists what the caller may subscribe to. The operator sees what is public: a
// private source is for its owner, and the status has the rest.
func (a *api) sources(r request) (any, error) {
	list := []source{}
	err := a.Store.Read(r.Context(), func(db *store.Snapshot) error { // both lists of one moment
		visible, err := db.VisibleSources(r.Context(), r.who.user.ID)
		if err != nil {
			return err
		}
		states := map[int64]store.FetchState{}
		if r.who.known() {
			all, err := db.FetchStates(r.Context())
			if err != nil {
				return err
			}
			for _, s := range all {
				states[s.ID] = s
			}
		}
		for _, s := range visible {
			out := source{ID: s.ID, Name: s.Name, Type: s.Type, Public: s.Public, Active: s.Active}
			if st, ok := states[s.ID]; ok {
				c := a.Collector.SourceStatus(st)
				out.fetching = &fetching{c.IntervalMinutes, c.NextFetchAt, c.Status}
			}
			list = append(list, out)
		}
		return nil
	})
	return map[string][]source{"sources": list}, err
}

// packs lists all packs, each with those of its sources that the caller may see.
func (a *api) packs(r request) (any, error) {
	var list []store.Pack
	err := a.Store.Read(r.Context(), func(db *store.Snapshot) (err error) {
		if list, err = db.Packs(r.Context()); err != nil {
			return err
		}
		visible, err := db.VisibleSources(r.Context(), r.who.user.ID)
		if err != nil {
			return err
		}
		for i := range list {
			list[i].SourceIDs = slices.DeleteFunc(list[i].SourceIDs, func(id int64) bool {
				return !slices.ContainsFunc(visible, func(s store.Source) bool { return s.ID == id })
			})
		}
		return nil
	})
	return map[string][]store.Pack{"packs": append([]store.Pack{}, list...)}, err
}
