package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/pool"
	"github.com/twofold-go/twofold/examples/digest/digest"
)

// grace is how long requests may go on after the program was told to end. A request for a
// digest may wait for a model: it is cut, and nothing of it is cached.
const grace = 10 * time.Second

// Serving says what [App.Serve] does.
type Serving struct {
	Listener net.Listener  // required; Serve closes it
	Collect  bool          // fetch sources when they are due
	Generate []digest.Kind // generate these for all users when a period closes

	// Retry is how soon digests that could not be made are tried again; then it is twice
	// that, and so on until the period after closes. 0: DefaultRetry.
	Retry time.Duration
}

// DefaultRetry is what a [Serving] that leaves Retry zero gets.
const DefaultRetry = 10 * time.Minute

// Serve answers requests until ctx ends, and does what else it is told to. Then it lets
// fetches under way end, for up to 30 s or until kill is closed, and requests for up to
// 10 s. Fetches that were cut are no error: their sources are as due as before.
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
		work.Go(func() {
			collected = a.Collector.Run(ctx, kill)
			if errors.Is(collected, pool.ErrCut) {
				a.cfg.Log.Warn("fetches were cut short; their sources are due again")
				collected = nil
			}
		})
	}
	work.Go(func() { a.generateWhenClosed(ctx, s.Generate, cmp.Or(s.Retry, DefaultRetry)) })
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

// shutdown lets requests end for as long as grace, or until kill is closed.
func shutdown(ctx context.Context, kill <-chan struct{}, srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-kill:
			cancel()
		case <-stop:
		}
	}()
	err := srv.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return srv.Close() // they had their time
	}
	return err
}
