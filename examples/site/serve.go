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
	"text/template"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/store"
)

const (
	usualAddr = "127.0.0.1:8080" // -addr, if it is free
	grace     = 10 * time.Second // for running requests at the end
)

type hints struct {
	URL, AdminKey string
	Given         bool   // the operator chose AdminKey, so it is not printed: output ends up in logs
	APIKey        string // only of a new database
}

var hintText = template.Must(template.New("hints").Parse(`The site is at   {{.URL}}/
The admin key is {{if .Given}}that of -admin-key{{else}}{{.AdminKey}}{{end}}
{{with .APIKey}}An API key is    {{.}}
{{end}}The cache is at  {{.URL}}/_cache (the password is the admin key)

A hit, a write, and the fresh page:
  curl -si {{.URL}}/ | grep -i -e ^cache-status -e '<h2'
  curl -H 'Authorization: Bearer {{if .Given}}ADMIN-KEY{{else}}{{.AdminKey}}{{end}}' -d '{"slug": "hello", "title": "Hello", "summary": "A first post.", "body": "It *works*.", "status": "published"}' {{.URL}}/admin/api/posts
  curl -si {{.URL}}/ | grep -i -e ^cache-status -e '<h2'

Ctrl+C stops the site.
`))

func serve(ctx context.Context, o options, out io.Writer, log *slog.Logger) (err error) {
	if o.db == "" {
		dir, err := os.MkdirTemp("", "site")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the system cleans its temporary folder
		o.db = filepath.Join(dir, "site.db")
	}
	l, err := listen(ctx, o.addr)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // the server has closed it, unless it did not start
	s, err := store.Open(ctx, o.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	hints, key := hints{URL: call.URL(l), AdminKey: cmp.Or(o.adminKey, rand.Text()), Given: o.adminKey != ""}, content.NewKey()
	filled, err := seed.Fill(ctx, s, seed.Options{BaseURL: hints.URL, APIKey: key, Empty: !o.seed})
	if err != nil {
		return err
	}
	if filled {
		hints.APIKey = key
	}
	site, err := newSite(s, siteConfig{adminKey: hints.AdminKey, uncached: !o.cache, objectsOnly: !o.responses, limits: o.limits, audit: o.audit, log: log})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var demo errgroup.Group
	if o.demo {
		demo.Go(func() error {
			defer cancel()
			return tellDemo(ctx, hints, out)
		})
	} else if err := hintText.Execute(out, hints); err != nil {
		return err
	}
	err = site.serve(ctx, l)
	cancel()
	return errors.Join(err, demo.Wait())
}

// listen listens at addr. If addr is empty and usualAddr is in use, it takes a free port.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", cmp.Or(addr, usualAddr))
	if err != nil && addr == "" {
		return c.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("-addr: want a free host:port, such as %s: %w", usualAddr, err)
	}
	return l, nil
}

// serve serves requests and does background work until ctx ends. Running requests may finish.
func (s *site) serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { service.Schedule(ctx, s.every, s.log, s.service.PublishDue); return nil })
	if s.consumer != nil {
		g.Go(func() error { s.consumer.Run(ctx); return nil })
		g.Go(func() error { s.warmer.Run(ctx); return nil })
	}
	g.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	<-ctx.Done() // ctx also ends when the server fails
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(srv.Shutdown(end), s.Close(end), g.Wait())
}
