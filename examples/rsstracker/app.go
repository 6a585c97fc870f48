package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/config"
	"github.com/twofold-go/twofold/examples/rsstracker/origin"
	"github.com/twofold-go/twofold/examples/rsstracker/server"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// app is the program but for what it was asked to do.
type app struct {
	file    *config.File
	keeper  *state.Keeper
	tracker *track.Tracker
	server  *server.Server
	close   []func() error // in reverse order
}

// open puts the program together from its configuration.
func open(ctx context.Context, o options, log *slog.Logger) (*app, error) {
	a := &app{}
	if err := a.build(ctx, o, log); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *app) build(ctx context.Context, o options, log *slog.Logger) (err error) {
	if a.file, err = config.Load(o.config); err != nil {
		return err
	}
	if o.site != "" && a.file.Sites[o.site].Track().Name == "" {
		return fmt.Errorf("the configuration has no site %q", o.site)
	}
	tiers, err := a.tiers(ctx, log)
	if err != nil {
		return err
	}
	client, err := fetch.New(fetch.Config{
		Tiers: tiers, UserAgent: a.file.UserAgent, HostDelay: time.Duration(a.file.HostDelay), AllowPrivate: a.file.AllowPrivate, PerHost: 1,
		MaxBytes: 50 << 20, Logger: log,
	})
	if err != nil {
		return err
	}
	a.close = append(a.close, func() error { client.Close(); return nil })
	src, err := origin.New(client, tiers, origin.Options{})
	if err != nil {
		return err
	}
	a.keeper = state.NewKeeper(a.file.Database, state.Options{}, time.Now, log)
	a.close = append(a.close, a.keeper.Close)
	if a.server, err = server.New(server.Config{Keeper: a.keeper, Tiers: tiers, Dir: a.file.Output, Sites: a.sites(), Log: log}); err != nil {
		return err
	}
	a.tracker = track.New(track.Config{Keeper: a.keeper, Source: src, Dir: a.file.Output, Log: log, Rendered: a.server.Refresh})
	return nil
}

// tiers opens the cache, which processes share through a file or a Redis. So the
// validators of what was fetched outlive the process.
func (a *app) tiers(ctx context.Context, log *slog.Logger) (*cache.Tiers, error) {
	cfg := cache.TiersConfig{Logger: log}
	if a.file.Redis == "" {
		if err := a.openCache(ctx, &cfg); err != nil {
			log.WarnContext(ctx, "the file of the cache is of no use, so this process asks for everything again; remove it", "err", err)
			cfg = cache.TiersConfig{Logger: log}
		}
	} else {
		opt, err := redis.ParseURL(a.file.Redis)
		if err != nil {
			return nil, errors.New("config: redis: a URL such as redis://localhost:6379 is wanted") // the cause may quote a password
		}
		rdb := redis.NewClient(redistier.Options(opt))
		a.close = append(a.close, rdb.Close)
		cfg.Remote = redistier.New(rdb, redistier.Config{Prefix: "rsstracker"})
		cfg.Log = redislog.New(rdb, redislog.Config{Prefix: "rsstracker"})
	}
	tiers, err := cache.Open(cfg)
	if err != nil {
		return nil, err
	}
	a.close = append(a.close, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return tiers.Close(ctx)
	})
	wait, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := tiers.Ready(wait); err != nil { // until then nothing that is shared is trusted
		log.WarnContext(ctx, "what other processes have fetched is not known yet", "err", err)
	}
	return tiers, ctx.Err()
}

// openCache opens the cells and the log in the cache's file. It is not the database: that
// is written with more care, and one that is corrupt is set aside.
func (a *app) openCache(ctx context.Context, cfg *cache.TiersConfig) error {
	dsn := "file:" + (&url.URL{Path: a.file.Cache}).EscapedPath() +
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	a.close = append(a.close, db.Close)
	remote := sqltier.New(db, sqltier.Config{Dialect: sqltier.SQLite, MaxCell: 8 << 20})
	news := sqllog.New(db, sqllog.Config{Dialect: sqllog.SQLite})
	if err := errors.Join(remote.Install(ctx), news.Install(ctx)); err != nil {
		return err
	}
	cfg.Remote, cfg.Log = remote, news
	return nil
}

// sites returns the sites as the server wants them. One counts as stale when it has
// missed three runs.
func (a *app) sites() (all []server.Site) {
	for _, name := range a.file.Names() {
		s := server.Site{Site: a.file.Sites[name].Track(), Full: !a.file.Sites[name].IsIncremental()}
		if !s.Full {
			s.MaxAge = 3 * s.Channel.TTL
		}
		all = append(all, s)
	}
	return all
}

// Close closes everything that was opened, the last thing first.
func (a *app) Close() error {
	var errs []error
	for _, c := range slices.Backward(a.close) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
