package sqlite_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

var schema = fstest.MapFS{"1_first.sql": {Data: []byte(`-- +goose Up
CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at INTEGER, more TEXT NOT NULL DEFAULT '{}');
CREATE TABLE member (team INTEGER NOT NULL REFERENCES team);
`)}}

func open(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Sync: sqlite.Off, Check: sqlite.Integrity, Migrations: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestRows(t *testing.T) {
	ctx, db := t.Context(), open(t, filepath.Join(t.TempDir(), "50% of a name?.db"))
	when := time.UnixMilli(1_700_000_000_123).UTC()
	err := db.Write(ctx, func(c sqlite.Conn) error {
		more, err := sqlite.ToJSON(map[string]int{"n": 7})
		if err != nil {
			return err
		}
		id, err := c.Insert(ctx, `INSERT INTO team (name, at, more) VALUES (?, ?, ?), ('zebras', ?, '{}')`,
			"ants", sqlite.ToMillis(when), more, sqlite.ToMillis(time.Time{}))
		if id != 2 {
			t.Errorf("Insert = %d, want 2", id)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	type team struct {
		name string
		at   time.Time
		more map[string]int
	}
	all, err := sqlite.List(ctx, db.Conn, func(r sqlite.Row) (v team, err error) {
		err = r.Scan(&v.name, sqlite.Millis{Time: &v.at}, sqlite.JSON{V: &v.more})
		return v, err
	}, `SELECT name, at, more FROM team ORDER BY id`)
	if err != nil || len(all) != 2 || !all[0].at.Equal(when) || all[0].more["n"] != 7 || !all[1].at.IsZero() {
		t.Errorf("List = %v, %v", all, err)
	}
	for name, got := range map[string]struct{ err, want error }{
		"unique":      {db.Write(ctx, insert(t, `INSERT INTO team (name) VALUES ('ants')`)), sqlite.ErrTaken},
		"key":         {db.Write(ctx, insert(t, `INSERT INTO team (id, name) VALUES (1, 'bees')`)), sqlite.ErrTaken},
		"foreign key": {db.Write(ctx, insert(t, `INSERT INTO member VALUES (99)`)), sqlite.ErrNotFound},
		"no change":   {db.Write(ctx, insert(t, `DELETE FROM team WHERE id = 99`)), sqlite.ErrNotFound},
		"no row":      {second(sqlite.One(ctx, db.Conn, sqlite.Value[string], `SELECT name FROM team WHERE id = 99`)), sqlite.ErrNotFound},
	} {
		if !errors.Is(got.err, got.want) {
			t.Errorf("%s: %v, want %v", name, got.err, got.want)
		}
	}
	if _, err := db.Run(ctx, `DELETE FROM team`); err == nil {
		t.Error("a reader wrote")
	}
	rolledBack := errors.New("no")
	err = db.Write(ctx, func(c sqlite.Conn) error {
		return errors.Join(c.Exec(ctx, `DELETE FROM team`), rolledBack)
	})
	if n, err2 := sqlite.One(ctx, db.Conn, sqlite.Value[int], `SELECT count(*) FROM team`); !errors.Is(err, rolledBack) || n != 2 || err2 != nil {
		t.Errorf("after a transaction that failed with %v there are %d rows, %v", err, n, err2)
	}
}

func insert(t *testing.T, query string) func(c sqlite.Conn) error {
	return func(c sqlite.Conn) error { return c.Exec(t.Context(), query) }
}

func second[T any](_ T, err error) error { return err }

// TestMode checks the modes of all files, while the database is open.
func TestMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	if err := db.Write(t.Context(), func(c sqlite.Conn) error {
		return c.Exec(t.Context(), `INSERT INTO team (name) VALUES ('ants')`)
	}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v, %v, want -rw-------", suffix, info.Mode(), err)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil { // the operator's choice
		t.Fatal(err)
	}
	open(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("an existing file became %v, %v", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestTogether opens a new file several times at once.
func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Migrations: schema})
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(db.Readers.PingContext(t.Context()), db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte("this is no database, and it is long enough to be read as one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		text:                                sqlite.ErrCorrupt,
		filepath.Join(dir, "no", "x.db"):    os.ErrNotExist,
		filepath.Join(text, "below a file"): nil,
		dir:                                 nil,
		"":                                  nil,
	} {
		db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Check: sqlite.Quick})
		if err == nil {
			t.Errorf("%q opened", path)
			_ = db.Close()
		} else if want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
	db, err := sqlite.OpenAnew(t.Context(), sqlite.Config{Path: text}, time.UnixMilli(5), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(text + ".corrupt-5"); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	open(t, text)
}

// Processes may create one file together. SQLite refuses one of two that change its journal mode
// at the same time, and does not wait as for other locks.
func TestCreatedTogether(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "new.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Sync: sqlite.Off})
				if err != nil {
					t.Error(err)
					return
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
