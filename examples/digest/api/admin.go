package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

func (a *api) forget(r *request) (any, error) {
	// A body may be a misplaced selection, and without parameters this call deletes everything.
	if r.ContentLength != 0 {
		return nil, bad("body", "this call takes no body; use the parameter hash, before or all")
	}
	if n := len(r.params); n > 1 {
		return nil, bad("query", "%d parameters, want one of hash, before, all or none", n)
	}
	if s, ok := r.params["all"]; ok && s != "true" {
		return nil, bad("all", "%d characters, want true", len(s))
	}
	sel := store.CacheSelection{Hash: strings.ToLower(r.params["hash"]), Before: r.date("before", a.Digests.Location())}
	sel.All = sel.Hash == "" && sel.Before.IsZero()
	if r.err != nil {
		return nil, r.err
	}
	n, err := a.Digests.Forget(r.Context(), sel, "operator at "+r.RemoteAddr)
	if errors.Is(err, digest.ErrSelection) {
		return nil, bad("query", "%v", err)
	}
	return map[string]int64{"deleted": n}, err
}

func onSource(fn func(ctx context.Context, id int64) (store.Source, error)) call {
	return func(r *request) (any, error) { return fn(r.Context(), r.id) }
}

func (a *api) resume(r *request) (any, error) {
	if err := a.Collector.Resume(r.Context(), r.id); err != nil {
		return nil, err
	}
	st, err := a.Store.FetchState(r.Context(), r.id)
	return a.Collector.SourceStatus(st), err
}

func (a *api) allUsers(r *request) (any, error) {
	after, limit := r.count("after", 0, 0, anyNumber), r.count("limit", 100, 1, 1000)
	if r.err != nil {
		return nil, r.err
	}
	all, err := a.Store.Users(r.Context(), int64(after), limit)
	return list("users", all, err)
}

type condition struct {
	collector.Health
	Reason     string            `json:"reason,omitempty"` // why the status is not "ok"
	Generation digest.Generation `json:"generation"`
	Verified   *Verified         `json:"verified"` // null: no verification yet
}

// health reports whether sources are fetched and digests generated. A used-up budget is not
// a 503: another process shares the budget.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	var c condition
	var err, err2 error
	c.Health, err = a.Collector.Health(r.Context())
	c.Generation, err2 = a.Digests.Generation(r.Context())
	if a.Verified != nil {
		c.Verified = a.Verified()
	}
	status := http.StatusServiceUnavailable
	switch err := errors.Join(err, err2); {
	case err != nil:
		a.Log.ErrorContext(r.Context(), "health cannot be read", "err", err)
		c.Reason = "the database does not answer"
	case c.Status == "clock":
		c.Reason = fmt.Sprintf("a clock was wrong: %d sources have times in the future", c.FutureSources)
	case c.Status == "failing":
		c.Reason = fmt.Sprintf("no new items: all %d sources fail", c.FailingSources)
	case c.Stalled():
		lag := time.Duration(c.OldestDueLagSeconds * float64(time.Second)).Round(time.Second)
		c.Reason = fmt.Sprintf("the collectors are late: %d sources are due, one for %v", c.DueSources, lag)
	default:
		status = http.StatusOK
	}
	a.send(w, status, c)
}
