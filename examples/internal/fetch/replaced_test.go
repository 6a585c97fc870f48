package fetch_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// fileTiers returns the tiers of a process: its own memory, and a shared file with a log.
func fileTiers(t *testing.T, path string) *cache.Tiers {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	remote := sqltier.New(db.Writer, sqltier.Config{Dialect: sqltier.SQLite, Readers: db.Readers})
	news := sqllog.New(db.Writer, sqllog.Config{Dialect: sqllog.SQLite, Readers: db.Readers})
	if err := remote.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := news.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	tiers, err := cache.Open(cache.TiersConfig{Remote: remote, Log: news, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tiers.Close(context.Background()) })
	if err := tiers.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tiers
}

// A changed answer reaches the remote tier, however soon it follows the last one. The next
// process sends its validator.
func TestReplacedReachesTheNextProcess(t *testing.T) {
	for name, same := range map[string]bool{"by the process that had it": true, "by another process": false} {
		t.Run(name, func(t *testing.T) {
			n, asked := 0, ""
			o := wire(func(r *http.Request) (*http.Response, error) {
				n++
				asked = r.Header.Get("If-None-Match")
				return reply(200, fmt.Sprint("answer ", n), "Etag", fmt.Sprintf(`"%d"`, n)), nil
			})
			path := filepath.Join(t.TempDir(), "cells.db")
			process := func() *fetch.Client {
				return newClient(t, fetch.Config{Tiers: fileTiers(t, path), Transport: o})
			}
			c := process()
			get(t, c, fetch.Request{URL: "https://a.example/"})
			if !same {
				c = process()
			}
			if got := get(t, c, fetch.Request{URL: "https://a.example/"}); string(got.Body) != "answer 2" || asked != `"1"` {
				t.Fatalf("the second time %q, asked with %s", got.Body, asked)
			}
			if get(t, process(), fetch.Request{URL: "https://a.example/"}); asked != `"2"` {
				t.Errorf("the next process asks with %s, want \"2\"", asked)
			}
		})
	}
}
