package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/store"
)

type serveCmd struct {
	Addr      string        `default:"127.0.0.1:8080" help:"The address to listen on (${default})."`
	DB        string        `name:"db" default:"blog.db" help:"The database file, created if it does not exist (${default})."`
	AdminKey  string        `env:"SITE_ADMIN_KEY" help:"The key of the admin API, not printed (default: a new one, printed)."`
	Seed      bool          `default:"true" negatable:"" help:"Fill a new database with sample posts (${default})."`
	Cache     bool          `default:"true" negatable:"" help:"Cache objects and responses (${default})."`
	Objects   int64         `default:"16" help:"Memory for objects, in MiB (${default})."`
	Responses int64         `default:"64" help:"Memory for responses, in MiB; 0 caches only objects (${default})."`
	HotPages  int           `default:"10" help:"How many pages of a list are cached (${default})."`
	Schedule  time.Duration `default:"1s" help:"How often to publish scheduled posts (${default})."`
	Poll      time.Duration `default:"500ms" help:"How often to look for writes of other processes, at most 1s (${default})."`
	Audit     float64       `default:"0.001" help:"The share of the hits that are compared with the database (${default})."`
}

// Validate checks what package kong cannot check by itself.
func (c *serveCmd) Validate() error {
	switch {
	case c.Objects < 1 || c.Responses < 0 || c.Objects+c.Responses > 1<<20:
		return errors.New("--objects and --responses: want 1 to 1048576, in MiB; --responses=0 caches only objects")
	case c.HotPages < 1:
		return errors.New("--hot-pages: want at least 1")
	case c.Schedule < 10*time.Millisecond || c.Poll < 10*time.Millisecond || c.Poll > time.Second:
		return errors.New("--schedule and --poll: want at least 10ms, and --poll at most 1s")
	case !(c.Audit >= 0 && c.Audit <= 1):
		return errors.New("--audit: want a share from 0 to 1")
	}
	return nil
}

// Run serves the blog until p ends.
func (c *serveCmd) Run(p *program) (err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(p, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("--addr: want a free host:port, such as 127.0.0.1:8080: %w", err)
	}
	defer l.Close() //nolint:errcheck // the server has closed it, unless it did not start
	s, err := store.Open(p, c.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	url, apiKey, adminKey := call.URL(l), content.NewKey(), cmp.Or(c.AdminKey, rand.Text())
	filled, err := seed.Fill(p, s, seed.Options{BaseURL: url, APIKey: apiKey, Empty: !c.Seed})
	if err != nil {
		return err
	}
	limits := usual
	limits.objects, limits.responses, limits.hotPages = c.Objects<<20, c.Responses<<20, c.HotPages
	limits.schedule, limits.poll = c.Schedule, c.Poll
	site, err := newSite(s, siteConfig{adminKey: adminKey, uncached: !c.Cache, objectsOnly: c.Responses == 0, limits: limits, audit: c.Audit, log: p.log})
	if err != nil {
		return err
	}
	if c.AdminKey == "" {
		fmt.Fprintf(p.out, "The admin key is %s\n", adminKey)
	}
	if filled {
		fmt.Fprintf(p.out, "An API key is %s\n", apiKey)
	}
	fmt.Fprintf(p.out, "The site is at %s/ and its cache at %[1]s/_cache (the password is the admin key)\n", url)
	return site.serve(p, l)
}

// serve serves requests and does background work until ctx ends. Running requests may finish.
func (s *site) serve(ctx context.Context, l net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { service.Schedule(ctx, s.every, s.log, s.service.PublishDue); return nil })
	if s.consumer != nil {
		g.Go(func() error { s.consumer.Run(ctx); return nil })
		g.Go(func() error { s.warmer.Run(ctx); return nil })
	}
	g.Go(func() error { return call.Serve(ctx, nil, l, s, time.Minute, s.log) })
	err := g.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), call.Grace)
	defer cancel()
	return errors.Join(err, s.Close(end))
}
