package sqllog_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// The two tools get the same statements, under the file names that they need.
func TestMigrations(t *testing.T) {
	t.Parallel()
	for _, d := range []sqllog.Dialect{sqllog.Postgres, sqllog.SQLite, sqllog.MySQL} {
		files := sqllog.Migrations(d)
		var names []string
		err := fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				names = append(names, path)
			}
			return err
		})
		want := []string{"goose/0001_twofold_log.sql", "migrate/0001_twofold_log.down.sql", "migrate/0001_twofold_log.up.sql"}
		if err != nil || !slices.Equal(names, want) {
			t.Fatalf("%v: files %q, %v; want %q", d, names, err, want)
		}
		var text []string
		for _, name := range names {
			b, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, string(b))
		}
		if text[0] != "-- +goose Up\n"+text[2]+"\n-- +goose Down\n"+text[1] {
			t.Errorf("%v: goose has other statements than golang-migrate", d)
		}
		if text[2] != sqllog.Schema(d) {
			t.Errorf("%v: Schema is not what is migrated", d)
		}
		for _, table := range []string{"twofold_outbox", "twofold_log", "twofold_meta"} {
			if !strings.Contains(text[2], "CREATE TABLE "+table+" ") || !strings.Contains(text[1], "DROP TABLE "+table+";") {
				t.Errorf("%v: table %s is not both created and dropped", d, table)
			}
		}
	}
	if sqllog.Migrations(0) != nil || sqllog.Schema(0) != "" || sqllog.Dialect(0).String() != "none" {
		t.Error("an unknown dialect has migrations")
	}
}
