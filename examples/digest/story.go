package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

type storyCmd struct{}

// readers adds ten feeds, and 300 users. Two of three add a feed to the same four.
const readers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
	INSERT INTO sources (name, type, config, created_at, updated_at) SELECT 'Feed ' || i, 'rss', '{"url": "%s/' || i || '"}', 0, 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
	INSERT INTO users (id, slug, name, email, created_at) SELECT i, 'u' || i, 'u' || i, 'u' || i, 0 FROM n;
INSERT INTO user_subscriptions (user_id, source_id, created_at) SELECT u.id, s.id, 0 FROM users u, sources s WHERE s.id <= 4 OR s.id = 4 + u.id %% 3 * (u.id %% 4)`

// Run lets the users read for four hours. Two instances of the program share a database, as two
// processes would.
func (storyCmd) Run(p *program) error {
	dir, err := os.MkdirTemp("", "digest")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans its temporary folder
	press := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<rss version="2.0"><channel><item><title>News of %s</title><link>http://news.example%[1]s</link></item></channel></rss>`, r.URL.Path)
	}))
	defer press.Close()
	var clock atomic.Int64
	clock.Store(time.Date(2026, time.February, 25, 4, 0, 0, 0, time.UTC).UnixMilli())
	cfg := app.Config{DB: filepath.Join(dir, "digest.db"), Now: func() time.Time { return time.UnixMilli(clock.Load()) }, Log: slog.New(slog.DiscardHandler), AllowPrivate: true}
	a, err := app.Open(p, cfg)
	if err != nil {
		return err
	}
	b, err := app.Open(p, cfg)
	if err != nil {
		return errors.Join(err, a.Close(context.WithoutCancel(p)))
	}
	_, err = a.Store.Import(p, fmt.Sprintf(readers, press.URL))
	err = errors.Join(err, a.Collector.RunOnce(p, nil))
	clock.Add((4*time.Hour + 10*time.Minute).Milliseconds()) // the period has closed
	tell := func(who *app.App, call string) {
		r, e := who.GenerateAll(p, digest.FourHours)
		fmt.Fprintf(p.out, "%s\n  %d digests: %v\n", call, r.Users, r.Origins)
		err = errors.Join(err, e, r.Err())
	}
	tell(a, "digests.Fetch(ctx, key, load): single flight, one load for each combination")
	tell(b, "another process; its remote tier is the first one's, sqltier.New(…) in one file")
	_, e := a.Digests.Forget(p, store.CacheSelection{All: true}, "story")
	tell(a, "after log.Append(ctx, tx, scopes…): the operator has deleted all digests")
	return errors.Join(err, e, a.Close(context.WithoutCancel(p)), b.Close(context.WithoutCancel(p)))
}
