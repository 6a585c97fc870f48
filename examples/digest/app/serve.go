package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/examples/digest/api"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/call"
)

// Serving configures [App.Serve].
type Serving struct {
	Listener net.Listener  // required; Serve closes it
	Collect  bool          // fetch due sources
	Generate []digest.Kind // generate these for all users when a period closes
	Retry    time.Duration // when to retry digests that could not be generated. Zero means five minutes
	Verify   time.Duration // how often to verify the stored hashes. Zero means daily
}

// Serve serves requests until ctx ends, and does the work of s. Interrupted fetches are an error.
func (a *App) Serve(ctx context.Context, kill <-chan struct{}, s Serving) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	var collected error
	if s.Collect {
		work.Go(func() { collected = a.Collector.Run(ctx, kill) })
	}
	for _, kind := range s.Generate {
		work.Go(func() { a.generateWhenClosed(ctx, kind, cmp.Or(s.Retry, 5*time.Minute)) })
	}
	work.Go(func() {
		for ctx.Err() == nil {
			a.verify(ctx)
			sleep(ctx, cmp.Or(s.Verify, 24*time.Hour))
		}
	})
	// A digest may have to be generated first.
	err := call.Serve(ctx, kill, s.Listener, a.handler, digest.DefaultLoadTimeout+30*time.Second, a.cfg.Log)
	cancel() // stop the work too if the server failed
	work.Wait()
	return errors.Join(err, collected)
}

// verify corrects stored hashes. With a wrong hash, a user sees another user's digest.
func (a *App) verify(ctx context.Context) {
	found, err := a.Store.Verify(ctx, true)
	if ctx.Err() != nil {
		return
	}
	a.verified.Store(&api.Verified{At: a.Store.Now().UTC(), Corrected: len(found), Failed: err != nil})
	if err != nil {
		a.cfg.Log.ErrorContext(ctx, "the stored hashes could not be verified", "err", err)
	}
	for _, d := range found {
		a.cfg.Log.ErrorContext(ctx, "a stored hash was wrong, and was corrected", "user", d.UserID, "kept", d.Kept, "want", d.Want)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

const (
	page    = 500 // users read at a time
	workers = 16  // users generated for at a time
)

// Report counts the results for many users.
type Report struct {
	Users    int                   `json:"users"`
	Outcomes map[digest.State]int  `json:"outcomes"`
	Origins  map[digest.Origin]int `json:"origins"` // of the digests that exist
	Failed   int                   `json:"failed"`
	mu       sync.Mutex            // protects all fields during generation
	first    error
}

// Err returns the first failure, or nil.
func (r *Report) Err() error {
	if r.Failed == 0 {
		return nil
	}
	return fmt.Errorf("app: no digest for %d of %d users: %w", r.Failed, r.Users, r.first)
}

func (r *Report) add(res digest.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, store.ErrNotFound) { // the user was deleted after the ids were read
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

// GenerateAll generates the digest of the last closed period for every user.
func (a *App) GenerateAll(ctx context.Context, kind digest.Kind) (*Report, error) {
	r := &Report{Outcomes: map[digest.State]int{}, Origins: map[digest.Origin]int{}}
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

// generateWhenClosed generates the digests of all users when a period closes. While some
// are missing, it retries after the given time.
func (a *App) generateWhenClosed(ctx context.Context, kind digest.Kind, retry time.Duration) {
	for ctx.Err() == nil {
		next := a.Digests.NextClose(kind)
		whole := a.generateOnce(ctx, kind)
		pause := next.Sub(a.Store.Now())
		if !whole {
			pause = min(pause, retry)
		}
		sleep(ctx, pause)
	}
}

func (a *App) generateOnce(ctx context.Context, kind digest.Kind) (whole bool) {
	r, err := a.GenerateAll(ctx, kind)
	if err == nil {
		err = r.Err()
	}
	if ctx.Err() != nil {
		return false
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
	}
	a.cfg.Log.Log(ctx, level, "digests generated", "type", kind, "users", r.Users, "failed", r.Failed,
		"calls", r.Origins[digest.FromCall], "err", err)
	return err == nil
}
