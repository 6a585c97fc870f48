package sqllogtest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/policy"
)

// client returns a command of WIRE.md for the database, which reads a statement from a file.
func (r *rig) client(t *testing.T, statement string) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile("../../../invalidate/WIRE.md")
	if err != nil {
		t.Fatal(err)
	}
	if statement == "" {
		_, statement, _ = strings.Cut(string(text), "\n```sql\n")
		statement, _, _ = strings.Cut(statement, "```")
	}
	program := map[sqllog.Dialect]string{sqllog.Postgres: "psql", sqllog.SQLite: "sqlite3", sqllog.MariaDB: "mariadb"}[r.dialect]
	row := regexp.MustCompile("(?m)^\\| [a-zA-Z]+ \\| `(" + program + " [^`]+)` \\|$").FindStringSubmatch(string(text))
	if row == nil || statement == "" {
		t.Fatalf("WIRE.md has no statement, or no command of %s", program)
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%v: run the tests by `make test`, which installs the clients of the databases", err)
	}
	file := filepath.Join(t.TempDir(), "invalidate.sql")
	if err := os.WriteFile(file, []byte(statement), 0o600); err != nil {
		t.Fatal(err)
	}
	command := strings.Replace(row[1], "invalidate.sql", file, 1)
	switch r.dialect {
	case sqllog.Postgres:
		command = strings.Replace(command, " app ", " '"+r.postgres.DSN(r.name)+"' ", 1)
	case sqllog.MariaDB:
		command = strings.Replace(command, "mariadb app ", "mariadb --no-defaults --host=127.0.0.1 --user=root --port="+strconv.Itoa(r.mariadb.Port())+" "+r.name+" ", 1)
	case sqllog.SQLite:
		command = strings.Replace(command, "app.db", r.path, 1)
	}
	return exec.CommandContext(t.Context(), "sh", "-ec", command)
}

// The statement of WIRE.md, run by the client of each database, reaches two processes within the bound.
func TestClients(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		var version atomic.Int64
		version.Store(1)
		open := func() (users, pages cache.Cache[int, int64]) {
			tiers, err := cache.Open(cache.TiersConfig{Log: r.open(sqllog.Config{}), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tiers.Close(context.Background()) })
			load := func(context.Context, int) (int64, error) { return version.Load(), nil }
			cfg := cache.For("users:v1", load)
			cfg.Policy = policy.Patch{Stale: new(time.Hour)}
			cfg.Tags = func(id int, _ int64) []string { return map[int][]string{7: {"org:7"}, 8: {"org:8"}}[id] }
			users, err = cache.New(tiers, cfg)
			if err == nil {
				pages, err = cache.New(tiers, cache.For("pages:v1", load))
			}
			if err == nil {
				err = tiers.Ready(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			return users, pages
		}
		type read struct {
			from    cache.Cache[int, int64]
			id      int
			covered bool
		}
		var reads []read
		for range 2 {
			users, pages := open()
			reads = append(reads, read{users, 42, true}, read{users, 7, true}, read{users, 8, true}, read{pages, 5, true}, read{users, 1, false})
		}
		all := func(ctx context.Context, version int64) (err error) {
			for _, r := range reads {
				want := version
				if !r.covered {
					want = 1
				}
				if got, failed := r.from.Get(ctx, r.id); failed != nil || got != want {
					err = errors.Join(err, failed, fmt.Errorf("%d has version %d, want %d", r.id, got, want))
				}
			}
			return err
		}
		if err := all(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		version.Store(2)
		if out, err := r.client(t, "").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		begun := time.Now()
		redistest.Eventually(t, "values stay old", func(ctx context.Context) error { return all(ctx, 2) })
		if took := time.Since(begun); took > patient {
			t.Errorf("new after %v, and the bound is %v", took, patient)
		} else {
			t.Logf("new in both processes %v after the client ended", took)
		}
	})
}

// A text that does not parse costs everything older: no reader can miss what it meant. A statement that the
// database refuses costs nothing.
func TestClientsWrongText(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{Logger: slog.New(slog.DiscardHandler)})
		if out, err := r.client(t, `INSERT INTO twofold_outbox (scopes) VALUES ('k default:users:v1:42');`).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if keys, scopes := p.sync(); len(keys) != 0 || len(scopes) != 1 || !scopes[0].Damaged || p.log.Stats().Damaged != 1 {
			t.Errorf("keys %+v, scopes %+v, Stats %+v; want one damaged record", keys, scopes, p.log.Stats())
		}
		if out, err := r.client(t, `INSERT INTO twofold_outbox (scopes) VALUES (NULL);`).CombinedOutput(); err == nil {
			t.Errorf("a row without a text is taken:\n%s", out)
		}
		p.want()
	})
}
