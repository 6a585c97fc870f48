package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

func (a *api) status(r request) (any, error) { return a.Collector.Status(r.Context()) }

func (a *api) stats(r request) (any, error) { return a.Digests.Stats(r.Context(), time.Time{}) }

// deleted is how many digests a call removed from the cache.
type deleted struct {
	Deleted int64 `json:"deleted"`
}

func (a *api) forget(r request) (any, error) {
	// A body cannot be meant for this call; it may well be a selection that was put in
	// the wrong place, and without parameters everything would go.
	if r.ContentLength != 0 {
		return nil, bad("body", "this call takes none, but the parameters hash, before or all")
	}
	sel, err := a.selection(r.params)
	if err != nil {
		return nil, err
	}
	n, err := a.Digests.Forget(r.Context(), sel, "operator at "+r.RemoteAddr)
	if errors.Is(err, digest.ErrSelection) {
		return nil, bad("query", "%v", err)
	}
	return deleted{n}, err
}

// selection reads which digests are to go: one of the three parameters, or none for all.
func (a *api) selection(params map[string]string) (sel store.CacheSelection, err error) {
	if len(params) > 1 {
		return sel, bad("query", "%d parameters, want one of hash, before, all or none", len(params))
	}
	if s, ok := params["before"]; ok {
		sel.Before, err = a.date(s)
		return sel, err
	}
	if s, ok := params["all"]; ok && s != "true" {
		return sel, bad("all", "%d characters, want true", len(s))
	}
	sel.Hash = strings.ToLower(params["hash"])
	sel.All = sel.Hash == ""
	return sel, nil
}

// date reads a time, or a date, which is its first moment.
func (a *api) date(s string) (time.Time, error) {
	if t, err := time.ParseInLocation(time.DateOnly, s, a.Location); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, bad("before", "%d characters, want a date such as 2026-02-25 or a time as in RFC 3339", len(s))
	}
	return t, nil
}

func (a *api) resume(r request) (any, error) {
	id, err := number(r, "id")
	if err != nil {
		return nil, err
	}
	if err := a.Collector.Resume(r.Context(), id); err != nil {
		return nil, err
	}
	st, err := a.Store.FetchState(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return a.Collector.SourceStatus(st), nil
}

// condition is what /healthz answers.
type condition struct {
	collector.Health
	Reason string `json:"reason,omitempty"` // why it is not "ok"
}

// health says whether digests are still fed. It takes no key, and names no source.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	h, err := a.Collector.Health(r.Context())
	switch {
	case err != nil:
		a.Log.ErrorContext(r.Context(), "health is not known", "err", err)
		a.send(w, http.StatusServiceUnavailable, condition{h, "the database does not answer"})
	case h.Status == "failing":
		a.send(w, http.StatusServiceUnavailable, condition{h, fmt.Sprintf("nothing comes in: all sources fail, %d of them", h.FailingSources)})
	case h.Stalled():
		lag := time.Duration(h.OldestDueLagSeconds * float64(time.Second)).Round(time.Second)
		a.send(w, http.StatusServiceUnavailable, condition{h, fmt.Sprintf("no collector keeps up: %d sources are due, one for %v", h.DueSources, lag)})
	default:
		a.send(w, http.StatusOK, condition{Health: h})
	}
}
