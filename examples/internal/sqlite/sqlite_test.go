package sqlite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

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
		id, err := sqlite.One[int64](ctx, c, `INSERT INTO team (at, name, more) VALUES (?, 'zebras', '{}'), (?, ?, ?) RETURNING id`,
			time.Time{}, when, "ants", more)
		if id != 1 {
			t.Errorf("the first row has id %d, want 1", id)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	type team struct {
		Label string `db:"name"`
		At    time.Time
		Took  time.Duration
		More  json.RawMessage
		List  []int
		Empty string
	}
	all, err := sqlite.List[team](ctx, db.Conn, `SELECT name, at, 20 AS took, more, '[1,2]' AS list, NULL AS empty FROM team ORDER BY name`)
	want := []team{{"ants", when, 20 * time.Millisecond, json.RawMessage(`{"n":7}`), []int{1, 2}, ""}, {"zebras", time.Time{}, 20 * time.Millisecond, json.RawMessage(`{}`), []int{1, 2}, ""}}
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("List: %v (-want +got)\n%s", err, diff)
	}
	for _, query := range []string{`SELECT 'noon' AS at`, `SELECT 'noon' AS took`, `SELECT 1 AS list`, `SELECT name, 1 AS unknown FROM team`} {
		if all, err := sqlite.List[team](ctx, db.Conn, query); err == nil {
			t.Errorf("%s = %v", query, all)
		}
	}
	for name, got := range map[string]struct{ err, want error }{
		"unique":      {db.Write(ctx, insert(t, `INSERT INTO team (name) VALUES ('ants')`)), sqlite.ErrTaken},
		"key":         {db.Write(ctx, insert(t, `INSERT INTO team (id, name) VALUES (1, 'bees')`)), sqlite.ErrTaken},
		"foreign key": {db.Write(ctx, insert(t, `INSERT INTO member VALUES (99)`)), sqlite.ErrNotFound},
		"no change":   {db.Write(ctx, insert(t, `DELETE FROM team WHERE id = 99`)), sqlite.ErrNotFound},
		"no row":      {second(sqlite.One[string](ctx, db.Conn, `SELECT name FROM team WHERE id = 99`)), sqlite.ErrNotFound},
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
	if n, err2 := sqlite.One[int](ctx, db.Conn, `SELECT count(*) FROM team`); !errors.Is(err, rolledBack) || n != 2 || err2 != nil {
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

// A mistyped path is either refused or told: a file that nobody wanted is no surprise later.
func TestMistypedPath(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{
		"postgres://u:secret@host/db", "postgre:/u:secret@host/db", "postgres//u:secret@host/db", "u:secret@host", "host=h password=secret", "file:x.db",
	} {
		db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "name a file") {
			t.Errorf("%q: %v, want an error that hides it", path, err)
			_ = db.Close()
		}
	}
	if all, err := filepath.Glob("*"); err != nil || len(all) > 0 {
		t.Errorf("made %v, %v", all, err)
	}
	for path, says := range map[string]string{".": "it is a folder: name a file", "no/x.db": `"no/x.db": its folder does not exist; create it`} {
		if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want an error that says %s", path, err, says)
		}
	}
	for i, told := range []bool{true, false} {
		var text bytes.Buffer
		db, err := sqlite.Open(t.Context(), sqlite.Config{Path: "./a:b.db", Log: slog.New(slog.NewTextHandler(&text, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(text.String(), "made a new database"); got != told {
			t.Errorf("opening %d told %q", i+1, text.String())
		}
	}
}

// A database keeps the hash of its migrations, so edited and foreign ones are found.
func TestSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	try := func(folder fstest.MapFS) error {
		db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Sync: sqlite.Off, Migrations: folder})
		if err != nil {
			return err
		}
		return db.Close()
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)} }
	first, second := file(`CREATE TABLE a (id INTEGER);`), file(`CREATE TABLE b (id INTEGER);`)
	for _, step := range []struct {
		name   string
		folder fstest.MapFS
		want   error
	}{
		{"new", fstest.MapFS{"1_a.sql": first}, nil},
		{"again", fstest.MapFS{"1_a.sql": first}, nil},
		{"edited", fstest.MapFS{"1_a.sql": file(`CREATE TABLE a (id TEXT);`)}, sqlite.ErrSchema},
		{"edited and more", fstest.MapFS{"1_a.sql": file(`CREATE TABLE a (id TEXT);`), "2_b.sql": second}, sqlite.ErrSchema},
		{"more", fstest.MapFS{"1_a.sql": first, "2_b.sql": second}, nil},
		{"an older program", fstest.MapFS{"1_a.sql": first}, sqlite.ErrSchema},
	} {
		if err := try(step.folder); !errors.Is(err, step.want) || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
	}
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
	if err := os.WriteFile(text+"-twofold", []byte("what the log says of the damaged file"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenAnew(t.Context(), sqlite.Config{Path: text}, time.UnixMilli(5), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-twofold"} {
		if _, err := os.Stat(text + ".corrupt-5" + suffix); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(text + "-twofold"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file beside the damaged one is still there: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	open(t, text)
}
