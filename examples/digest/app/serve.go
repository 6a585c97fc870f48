package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/examples/digest/api"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// grace is how long requests may go on after the program was told to end.
const grace = 10 * time.Second

// Serving says what [App.Serve] does.
type Serving struct {
	Listener net.Listener  // required; Serve closes it
	Collect  bool          // fetch sources when they are due
	Generate []digest.Kind // generate these for all users when a period closes
	Retry    time.Duration // how soon digests that could not be made are asked for again. 0: five minutes.
	Verify   time.Duration // how often the kept hashes are verified; 0: every day
}

// Serve answers requests until ctx ends, and does what else it is told to. That fetches were cut is an error.
func (a *App) Serve(ctx context.Context, kill <-chan struct{}, s Serving) error {
	srv := &http.Server{
		Handler:           a.handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      digest.DefaultLoadTimeout + 30*time.Second, // a digest may have to be written first
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(a.cfg.Log.Handler(), slog.LevelWarn),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	var collected, ended error
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
	work.Go(func() {
		<-ctx.Done()
		ended = shutdown(ctx, kill, srv)
	})
	err := srv.Serve(s.Listener)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	cancel() // also when the server gave up by itself
	work.Wait()
	return errors.Join(err, ended, collected)
}

func shutdown(ctx context.Context, kill <-chan struct{}, srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	go func() {
		select {
		case <-kill:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := srv.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return srv.Close() // they had their time
	}
	return err
}

// verify corrects kept hashes: a wrong one shows its user another user's digest.
func (a *App) verify(ctx context.Context) {
	found, err := a.Store.Verify(ctx, true)
	if ctx.Err() != nil {
		return
	}
	a.verified.Store(&api.Verified{At: a.Store.Now().UTC(), Corrected: len(found), Failed: err != nil})
	if err != nil {
		a.cfg.Log.ErrorContext(ctx, "kept hashes were not verified", "err", err)
	}
	for _, d := range found {
		a.cfg.Log.ErrorContext(ctx, "a kept hash was wrong, and was corrected", "user", d.UserID, "kept", d.Kept, "want", d.Want)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

const (
	page    = 500 // users are read at a time
	workers = 16  // users are generated for at a time
)

// Report counts what became of the digests of many users.
type Report struct {
	Users    int                   `json:"users"`
	Outcomes map[digest.State]int  `json:"outcomes"`
	Origins  map[digest.Origin]int `json:"origins"` // of those that there are
	Failed   int                   `json:"failed"`
	mu       sync.Mutex            // protects all of it while digests are generated
	first    error
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

// generateWhenClosed generates all users' digests at once, whenever a period closes, and every retry while some are missing.
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
	a.cfg.Log.Log(ctx, level, "digests generated", "type", kind, "users", r.Users, "failed", r.Failed, "stale", r.Outcomes[digest.Stale],
		"calls", r.Origins[digest.FromCall], "err", err)
	return err == nil && r.Outcomes[digest.Stale] == 0
}
