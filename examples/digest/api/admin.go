package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/call"
)

func (a *api) forget(r *request) (any, error) {
	// A body may be a misplaced selection, and without parameters this call deletes everything.
	if r.ContentLength != 0 {
		return nil, call.Bad("body", "this call takes no body; use the parameter hash, before or all")
	}
	if n := len(r.URL.Query()); n > 1 {
		return nil, call.Bad("query", "%d parameters, want one of hash, before, all or none", n)
	}
	if s := r.query.Text("all"); s != "" && s != "true" {
		return nil, call.Bad("all", "%d characters, want true", len(s))
	}
	sel := store.CacheSelection{Hash: strings.ToLower(r.query.Text("hash")), Before: r.query.Time("before", a.Digests.Location())}
	sel.All = sel.Hash == "" && sel.Before.IsZero()
	if err := r.query.Err(); err != nil {
		return nil, err
	}
	n, err := a.Digests.Forget(r.Context(), sel, "operator at "+r.RemoteAddr)
	if errors.Is(err, digest.ErrSelection) {
		return nil, call.Bad("query", "%v", err)
	}
	return map[string]int64{"deleted": n}, err
}

func (a *api) resume(r *request) (any, error) {
	if err := a.Collector.Resume(r.Context(), r.id); err != nil {
		return nil, err
	}
	st, err := a.Store.FetchState(r.Context(), r.id)
	return a.Collector.SourceStatus(st), err
}

type condition struct {
	collector.Health
	Reason   string    `json:"reason,omitempty"` // why the status is not "ok"
	Verified *Verified `json:"verified"`         // null if there was no verification yet
}

// health reports whether sources are fetched.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	var c condition
	var err error
	c.Health, err = a.Collector.Health(r.Context())
	if a.Verified != nil {
		c.Verified = a.Verified()
	}
	status := http.StatusServiceUnavailable
	switch {
	case err != nil:
		a.Log.ErrorContext(r.Context(), "health cannot be read", "err", err)
		c.Reason = "the database does not answer"
	case c.Status == "failing":
		c.Reason = fmt.Sprintf("no new items: all %d sources fail", c.FailingSources)
	case c.Stalled():
		lag := time.Duration(c.OldestDueLagSeconds * float64(time.Second)).Round(time.Second)
		c.Reason = fmt.Sprintf("the collectors are late: %d sources are due, one for %v", c.DueSources, lag)
	default:
		status = http.StatusOK
	}
	body, _ := json.Marshal(c) // it has no type that cannot be encoded
	call.Send(w, status, "application/json", body)
}
