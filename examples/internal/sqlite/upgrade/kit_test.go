// Package upgrade_test checks that the programs read databases of earlier versions.
package upgrade_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// restore makes a database from the statements of a file, and returns its path.
func restore(tb testing.TB, file string) string {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "restored.db")
	db, err := sqlite.Open(tb.Context(), sqlite.Config{Path: path, Sync: sqlite.Off})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := db.Writer.ExecContext(tb.Context(), string(text)); err != nil {
		tb.Error(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// sorted finds an ORDER BY inside an aggregate. SQLite before 3.44, which Debian 12 has, cannot open a
// database that has one in its schema.
var sorted = regexp.MustCompile(`(json_group_\w+|group_concat|string_agg)\([^()]*(\([^()]*\)[^()]*)*ORDERBY`)

var ignored = regexp.MustCompile(`--[^\n]*|\s+`)

// schema returns the statements that made the tables of a program, without space and comments.
func schema(tb testing.TB, path string) []string {
	tb.Helper()
	db, err := sqlite.Open(tb.Context(), sqlite.Config{Path: path, Check: sqlite.Integrity})
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	all, err := sqlite.List[string](tb.Context(), db.Conn, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL
		AND name NOT LIKE 'sqlite_%' AND tbl_name NOT LIKE 'twofold_%' ORDER BY type, name`)
	if err != nil {
		tb.Fatal(err)
	}
	faults, err := sqlite.List[string](tb.Context(), db.Conn, `SELECT "table" || ' refers to a missing ' || parent FROM pragma_foreign_key_check`)
	if err != nil || len(faults) > 0 {
		tb.Errorf("foreign keys: %v, %v", faults, err)
	}
	for i, s := range all {
		all[i] = strings.ReplaceAll(ignored.ReplaceAllString(s, ""), `"`, "")
		if sorted.MatchString(all[i]) {
			tb.Errorf("SQLite before 3.44 cannot open the database: %s", s)
		}
	}
	return all
}

// A migration that a list in testdata names was not edited, renamed or deleted, and the list names
// each. It has a hash and a name per line.
func TestMigrationsAreAppendOnly(t *testing.T) {
	for list, folder := range map[string]string{
		"digest/store/testdata/migrations.txt": "digest/store/migrations", "rsstracker/state/testdata/migrations.txt": "rsstracker/state/migrations",
		"site/store/testdata/migrations.txt": "site/store/migrations",
	} {
		text, err := os.ReadFile("../../../" + list)
		if err != nil {
			t.Fatal(err)
		}
		files := os.DirFS("../../../" + folder)
		names, err := fs.Glob(files, "*.sql")
		if err != nil {
			t.Fatal(err)
		}
		hashes, err := sqlite.Hashes(files)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for i, hash := range hashes {
			lines = append(lines, hash+" "+names[i])
		}
		if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(text)), "\n"), lines); diff != "" {
			t.Errorf("Migrations in databases never change: add a new file instead, and its line to %s (-list +files)\n%s", list, diff)
		}
	}
}
