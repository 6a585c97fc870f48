package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// page is how many users are read at a time.
const page = 500

// workers is how many users are generated for at a time. Of these only as many as the
// service allows call the summariser.
const workers = 16

// Report counts what became of the digests of many users.
type Report struct {
	Users    int                   `json:"users"`
	Outcomes map[digest.State]int  `json:"outcomes"`
	Origins  map[digest.Origin]int `json:"origins"` // of those that there are
	Failed   int                   `json:"failed"`
	Took     time.Duration         `json:"took_ns"`

	mu    sync.Mutex
	first error
}

// Err returns what went wrong for the first of the users for whom something did.
func (r *Report) Err() error {
	if r.Failed == 0 {
		return nil
	}
	return fmt.Errorf("app: no digest for %d of %d users: %w", r.Failed, r.Users, r.first)
}

func (r *Report) add(res digest.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, store.ErrNotFound) { // the user is gone since the ids were read
		return
	}
	r.Users++
	if err != nil {
		r.Failed++
		if r.first == nil {
			r.first = err
		}
		return
	}
	r.Outcomes[res.State]++
	if res.Origin != "" {
		r.Origins[res.Origin]++
	}
}

// GenerateAll generates the digest of the last closed period for every user. One user's
// failure is no other's: it is counted, and the report's Err. Who is asked for twice
// costs nothing. Digests that have served their time are removed, for a program that a cron
// job starts does not live for an hour. The error is the database's, or ctx's.
func (a *App) GenerateAll(ctx context.Context, kind digest.Kind) (*Report, error) {
	r := &Report{Outcomes: map[digest.State]int{}, Origins: map[digest.Origin]int{}}
	began := time.Now()
	defer func() { r.Took = time.Since(began) }()
	var last int64
	for {
		ids, err := a.Store.UserIDs(ctx, last, page)
		if err == nil && len(ids) == 0 {
			_, err = a.Digests.Clean(ctx)
			return r, err
		}
		if err != nil {
			return r, err
		}
		last = ids[len(ids)-1]
		var group errgroup.Group
		group.SetLimit(workers)
		for _, id := range ids {
			group.Go(func() error {
				res, err := a.Digests.Generate(ctx, digest.Request{UserID: id, Kind: kind})
				if ctx.Err() == nil {
					r.add(res, err)
				}
				return ctx.Err()
			})
		}
		if err := group.Wait(); err != nil {
			return r, err
		}
	}
}

// generateWhenClosed generates the digests of kinds for all users, at once and then
// whenever a period closes, until ctx ends. A program that was down when one closed makes
// up for it when it starts, and what a model did not write when a period closed is tried
// again: the next one may close in a month. Each time it waits twice as long, for a model
// that refuses is paid, too.
func (a *App) generateWhenClosed(ctx context.Context, kinds []digest.Kind, retry time.Duration) {
	var all sync.WaitGroup
	for _, kind := range kinds {
		all.Go(func() {
			again := retry
			for ctx.Err() == nil {
				next := a.Digests.NextClose(kind)
				whole := a.generateOnce(ctx, kind)
				pause := next.Sub(a.Store.Now())
				if !whole && again < pause {
					pause, again = again, 2*again
				} else {
					again = retry
				}
				wait := time.NewTimer(pause)
				select {
				case <-ctx.Done():
				case <-wait.C:
				}
				wait.Stop()
			}
		})
	}
	all.Wait()
}

// generateOnce reports whether everybody has a digest of the period, and no old one.
func (a *App) generateOnce(ctx context.Context, kind digest.Kind) (whole bool) {
	r, err := a.GenerateAll(ctx, kind)
	if err == nil {
		err = r.Err()
	}
	if ctx.Err() != nil {
		return false
	}
	level := a.cfg.Log.InfoContext
	if err != nil {
		level = a.cfg.Log.ErrorContext
	}
	level(ctx, "digests generated", "type", kind, "users", r.Users, "failed", r.Failed, "stale", r.Outcomes[digest.Stale],
		"calls", r.Origins[digest.FromCall], "took", r.Took.Round(time.Millisecond), "err", err)
	return err == nil && r.Outcomes[digest.Stale] == 0
}
