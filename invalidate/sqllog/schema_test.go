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
	for _, d := range []sqllog.Dialect{sqllog.Postgres, sqllog.SQLite, sqllog.MariaDB} {
		files := sqllog.Migrations(d)
		names := []string{"0001_twofold_log"}
		var got, want []string
		err := fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				got = append(got, path)
			}
			return err
		})
		read := func(name string) string {
			want = append(want, name)
			b, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		var all, down string
		for _, name := range names {
			up, undo := read("migrate/"+name+".up.sql"), read("migrate/"+name+".down.sql")
			if read("goose/"+name+".sql") != "-- +goose Up\n"+up+"\n-- +goose Down\n"+undo {
				t.Errorf("%v: goose has other statements than golang-migrate in %s", d, name)
			}
			all, down = all+up, undo+down
		}
		if slices.Sort(want); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: files %q, %v; want %q", d, got, err, want)
		}
		if all != sqllog.Schema(d) {
			t.Errorf("%v: Schema is not what is migrated", d)
		}
		for _, table := range []string{"twofold_outbox", "twofold_log", "twofold_meta"} {
			if !strings.Contains(all, "CREATE TABLE "+table+" ") || !strings.Contains(down, "DROP TABLE "+table+";") {
				t.Errorf("%v: table %s is not both created and dropped", d, table)
			}
		}
	}
	if sqllog.Migrations(0) != nil || sqllog.Schema(0) != "" || sqllog.Dialect(0).String() != "none" {
		t.Error("an unknown dialect has migrations")
	}
}
