package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// subscriptions is what a user is subscribed to, and what that hashes to.
type subscriptions struct {
	Hash      string  `json:"hash"`
	Count     int     `json:"source_count"`
	SourceIDs []int64 `json:"source_ids"` // ascending
	Offered   *int    `json:"offered,omitempty"`
}

func (a *api) hash(r request) (any, error) { return a.subscriptionsOf(r.Context(), r.who.user.ID) }

func (a *api) subscriptionsOf(ctx context.Context, user int64) (subscriptions, error) {
	s, err := a.Store.Subscriptions(ctx, user)
	return subscriptions{Hash: s.Hash, Count: len(s.SourceIDs), SourceIDs: append([]int64{}, s.SourceIDs...)}, err
}

// maxSubscribe is the most sources that one call may name.
const maxSubscribe = 1000

func (a *api) subscribe(r request) (any, error) {
	in, err := decode[struct {
		SourceIDs []int64 `json:"source_ids"`
	}](r)
	if err != nil {
		return nil, err
	}
	if n := len(in.SourceIDs); n == 0 || n > maxSubscribe {
		return nil, bad("source_ids", "%d ids, want 1 to %d", n, maxSubscribe)
	}
	return a.change(r, func(ctx context.Context, tx *store.Tx) error {
		return tx.Subscribe(ctx, r.who.user.ID, in.SourceIDs...)
	})
}

func (a *api) unsubscribe(r request) (any, error) {
	id, err := number(r, "source")
	if err != nil {
		return nil, err
	}
	return a.change(r, func(ctx context.Context, tx *store.Tx) error {
		return tx.Unsubscribe(ctx, r.who.user.ID, id)
	})
}

func (a *api) install(r request) (any, error) {
	var offered int
	s, err := a.change(r, func(ctx context.Context, tx *store.Tx) (err error) {
		offered, err = tx.InstallPack(ctx, r.who.user.ID, r.PathValue("slug"))
		return err
	})
	s.Offered = &offered
	return s, err
}

// change changes what the caller is subscribed to, and returns what came of it.
func (a *api) change(r request, fn func(ctx context.Context, tx *store.Tx) error) (subscriptions, error) {
	err := a.Store.Write(r.Context(), func(tx *store.Tx) error { return fn(r.Context(), tx) })
	if err != nil {
		return subscriptions{}, err
	}
	return a.subscriptionsOf(r.Context(), r.who.user.ID)
}

// maxDigests is the most digests that one call returns, and defaultDigests how many it
// does by itself.
const maxDigests, defaultDigests = 100, 20

func (a *api) digests(r request) (any, error) {
	if s, ok := r.params["type"]; ok {
		if _, err := digest.ParseKind(s); err != nil {
			return nil, bad("type", "%v", err)
		}
	}
	limit := defaultDigests
	if s, ok := r.params["limit"]; ok {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxDigests {
			return nil, bad("limit", "%d characters, want a number from 1 to %d", len(s), maxDigests)
		}
		limit = n
	}
	list, err := a.Store.Digests(r.Context(), r.who.user.ID, r.params["type"], limit)
	return map[string][]store.Digest{"digests": append([]store.Digest{}, list...)}, err
}

// defaultAfter is when to try again if the model has not said.
const defaultAfter = 10 * time.Second

// after returns when it makes sense to ask for a digest again that could not be made.
func after(err error) time.Duration {
	if limit, ok := errors.AsType[*summary.RateLimitError](err); ok {
		return max(time.Until(limit.Until), time.Second)
	}
	return defaultAfter
}

// generated is the digest that a user asked for.
type generated struct {
	State  digest.State  `json:"state"`
	Origin digest.Origin `json:"origin,omitempty"`
	Hash   string        `json:"hash"` // of sources and options
	Start  time.Time     `json:"period_start"`
	End    time.Time     `json:"period_end"`
	Digest *store.Digest `json:"digest"` // null: there was nothing to write about
}

// generate answers with the digest of the last closed period. To ask again costs
// nothing: it is the same row.
func (a *api) generate(r request) (any, error) {
	in, err := decode[struct {
		Type string `json:"type"`
	}](r)
	if err != nil {
		return nil, err
	}
	kind, err := digest.ParseKind(in.Type)
	if err != nil {
		return nil, bad("type", "%v", err)
	}
	res, err := a.Digests.Generate(r.Context(), digest.Request{UserID: r.who.user.ID, Kind: kind})
	if err != nil {
		// The user and the type are known to be good: what is left is the model or the
		// database, and will pass. Nothing was stored.
		a.Log.ErrorContext(r.Context(), "no digest", "user", r.who.user.ID, "type", kind, "err", err)
		return nil, &problem{Status: http.StatusServiceUnavailable, Text: "the digest cannot be written now; try again later", After: after(err)}
	}
	out := generated{State: res.State, Origin: res.Origin, Hash: res.Hash, Start: res.Window.Start, End: res.Window.End}
	if res.State == digest.Ready || res.State == digest.Stale {
		out.Digest = &res.Row
	}
	return out, nil
}
