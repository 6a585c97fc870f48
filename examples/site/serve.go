package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/store"
)

// usualAddr is where the site listens if nobody says otherwise and nobody else does.
const usualAddr = "127.0.0.1:8080"

// grace is how long requests may go on after the program was told to end.
const grace = 10 * time.Second

// serve runs the site until ctx ends.
func serve(ctx context.Context, o options, out io.Writer, log *slog.Logger) (err error) {
	if o.db == "" {
		dir, err := os.MkdirTemp("", "site")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // it is the system's temporary folder; so is what is left
		o.db = filepath.Join(dir, "site.db")
	}
	l, err := listen(ctx, o.addr)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // the server has closed it, unless it never began
	s, err := store.Open(ctx, o.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	hints := hints{URL: baseURL(l), AdminKey: cmp.Or(o.adminKey, rand.Text())}
	if hints.APIKey, err = fill(ctx, s, hints.URL); err != nil {
		return err
	}
	site, err := newSite(s, siteConfig{adminKey: hints.AdminKey, uncached: !o.cache, log: log})
	if err != nil {
		return err
	}
	if !o.demo {
		if err := hints.print(out); err != nil {
			return err
		}
		return site.serve(ctx, l, log)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan error, 1)
	go func() {
		told <- tellDemo(ctx, hints, out)
		cancel()
	}()
	err = site.serve(ctx, l, log)
	cancel()
	return errors.Join(err, <-told)
}

// listen listens at addr, or, if that is empty, wherever it can.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", cmp.Or(addr, usualAddr))
	if err != nil && addr == "" {
		return c.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	return l, err
}

// baseURL returns the URL at which this machine reaches l.
func baseURL(l net.Listener) string {
	addr := l.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("http://localhost:%d", addr.Port)
	}
	return "http://" + addr.String()
}

// fill seeds a new database, and returns the API key that is in it; "" if it was
// not new.
func fill(ctx context.Context, s *store.Store, url string) (key string, err error) {
	key, _, _ = content.NewKey()
	err = seed.Fill(ctx, s, seed.Options{BaseURL: url, APIKey: key})
	if errors.Is(err, seed.ErrFilled) {
		return "", nil
	}
	return key, err
}

// serve answers requests to l, and runs the job, until ctx ends; then it lets
// requests that are under way finish.
func (s *site) serve(ctx context.Context, l net.Listener, log *slog.Logger) error {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { s.work(ctx) })
	wg.Go(func() { s.warmUp(ctx, log) })
	var ended error
	wg.Go(func() {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		ended = errors.Join(srv.Shutdown(ctx), s.Close(ctx))
	})
	err := srv.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	cancel() // also when the server gave up by itself
	wg.Wait()
	return errors.Join(err, ended)
}
