package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/rsstracker/config"
	"github.com/twofold-go/twofold/examples/rsstracker/origin"
	"github.com/twofold-go/twofold/examples/rsstracker/server"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/tier/ristretto"
	"github.com/twofold-go/twofold/tier/sqltier"
)

type app struct {
	file    *config.File
	keeper  *state.Keeper
	tracker *track.Tracker
	server  *server.Server
	close   []func(context.Context) error // called in reverse order
	turns   *semaphore.Weighted           // limits the runs at a time
	now     func() time.Time
}

func (s *settings) with(p *program, site string, do func(a *app) error) error {
	file, err := config.Load(s.Config)
	if err != nil {
		return err
	}
	a := &app{file: file, now: time.Now}
	err = a.open(p, p.log)
	if err == nil && site != "" && !slices.Contains(a.file.Names(), site) {
		err = fmt.Errorf("--site: the configuration has no site %q, only %q", site, a.file.Names())
	}
	if err == nil {
		err = do(a)
	}
	return errors.Join(err, a.shut(p))
}

func (a *app) shut(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), call.Grace)
	defer cancel()
	for _, c := range slices.Backward(a.close) {
		err = errors.Join(err, c(ctx))
	}
	return err
}

func (a *app) names(site string) []string {
	if site != "" {
		return []string{site}
	}
	return a.file.Names()
}

func (a *app) open(ctx context.Context, log *slog.Logger) error {
	a.turns = semaphore.NewWeighted(atOnce)
	tiers, err := a.tiers(ctx, log)
	if err != nil {
		return err
	}
	client, err := fetch.New(fetch.Config{
		Tiers: tiers, UserAgent: a.file.UserAgent, HostDelay: time.Duration(a.file.HostDelay), AllowPrivate: a.file.AllowPrivate, PerHost: 1,
		MaxBytes: 50 << 20, Now: a.now, Logger: log,
	})
	if err != nil {
		return err
	}
	a.close = append(a.close, func(context.Context) error { client.Close(); return nil })
	src, err := origin.New(client, tiers)
	if err != nil {
		return err
	}
	a.keeper = state.NewKeeper(a.file.Database, sqlite.Full, a.now, log)
	a.close = append(a.close, func(context.Context) error { return a.keeper.Close() })
	var sites []config.Site
	for _, name := range a.file.Names() {
		sites = append(sites, a.file.Sites[name])
	}
	if a.server, err = server.New(server.Config{Keeper: a.keeper, Tiers: tiers, Dir: a.file.Output, Sites: sites, Now: a.now, Log: log}); err != nil {
		return err
	}
	a.close = append(a.close, a.server.Close)
	a.tracker = track.New(track.Config{
		Keeper: a.keeper, Source: src, Dir: a.file.Output, Now: a.now, Log: log, Lease: time.Duration(a.file.Lease), Rendered: a.server.Refresh,
	})
	return nil
}

// tiers opens the cache. Its second tier keeps the validators of fetched URLs for later processes.
func (a *app) tiers(ctx context.Context, log *slog.Logger) (*cache.Tiers, error) {
	cfg := cache.TiersConfig{Logger: log}
	if err := a.cacheFile(ctx, &cfg, log); err != nil {
		log.WarnContext(ctx, "the cache file cannot be used, so this process downloads everything again; remove the file",
			"file", a.file.Cache, "err", err)
		cfg = cache.TiersConfig{Logger: log}
	}
	cfg.Local = ristretto.New(ristretto.Config{}) // only to show another tier: most programs keep the default, tier/local
	tiers, err := cache.Open(cfg)
	if err != nil {
		return nil, err
	}
	a.close = append(a.close, tiers.Close)
	wait, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := tiers.Ready(wait); err != nil { // before that, the cache does not serve entries of other processes
		log.WarnContext(ctx, "the log does not answer yet, so entries of other processes are not used", "err", err)
	}
	return tiers, ctx.Err()
}

// cacheFile opens the cache in its own file, because a run may replace the database meanwhile.
func (a *app) cacheFile(ctx context.Context, cfg *cache.TiersConfig, log *slog.Logger) error {
	db, err := sqlite.OpenAnew(ctx, sqlite.Config{Path: a.file.Cache}, a.now(), log)
	if err != nil {
		return err
	}
	a.close = append(a.close, func(context.Context) error { return db.Close() })
	remote := sqltier.New(db.Writer, sqltier.Config{Dialect: sqltier.SQLite, Readers: db.Readers, MaxCell: 8 << 20})
	news := sqllog.New(db.Writer, sqllog.Config{Dialect: sqllog.SQLite})
	if err := errors.Join(remote.Install(ctx), news.Install(ctx)); err != nil {
		return err
	}
	cfg.Remote, cfg.Log = remote, news
	return nil
}
