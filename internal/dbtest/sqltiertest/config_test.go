package sqltiertest_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	db := new(sql.DB)
	for name, tc := range map[string]struct {
		db    *sql.DB
		cfg   sqltier.Config
		field string
	}{
		"no database":     {nil, sqltier.Config{Dialect: sqltier.SQLite}, "*sql.DB"},
		"no dialect":      {db, sqltier.Config{}, "Dialect"},
		"another dialect": {db, sqltier.Config{Dialect: 9}, "Dialect"},
		"SQL for a name":  {db, sqltier.Config{Dialect: sqltier.SQLite, Table: "x; DROP TABLE users"}, "Table"},
		"reserved word":   {db, sqltier.Config{Dialect: sqltier.SQLite, Table: "Order"}, "reserved word"},
		"reserved schema": {db, sqltier.Config{Dialect: sqltier.Postgres, Table: "user.cells"}, "reserved word"},
		"two schemas":     {db, sqltier.Config{Dialect: sqltier.Postgres, Table: "a.b.c"}, "Table"},
		"SQLite schema":   {db, sqltier.Config{Dialect: sqltier.SQLite, Table: "main.cells"}, "Table"},
		"negative cells":  {db, sqltier.Config{Dialect: sqltier.SQLite, MaxCell: -1}, "MaxCell"},
		"negative bytes":  {db, sqltier.Config{Dialect: sqltier.SQLite, MaxBytes: -1}, "MaxBytes"},
		"clock":           {db, sqltier.Config{Dialect: sqltier.Postgres, Now: time.Now}, "Now"},
	} {
		r := sqltier.New(tc.db, tc.cfg)
		errs := calls(t.Context(), r, "secret-key")
		errs["Validate"], errs["Install"] = r.Validate(), r.Install(t.Context())
		for call, err := range errs {
			if !errors.Is(err, sqltier.ErrConfig) || !strings.Contains(err.Error(), tc.field) {
				t.Errorf("%s: %s = %v, want %v about %s", name, call, err, sqltier.ErrConfig, tc.field)
			}
			if err != nil && strings.Contains(err.Error(), "DROP") {
				t.Errorf("%s: %s quotes the value: %v", name, call, err)
			}
		}
	}
	for call, err := range calls(t.Context(), new(sqltier.Tier), "k") {
		if !errors.Is(err, sqltier.ErrConfig) {
			t.Errorf("%s of a zero Tier = %v, want %v", call, err, sqltier.ErrConfig)
		}
	}
}

// Every call on a database without the table names the migration, and no call quotes the key.
func TestMissingTable(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := sqltier.New(p.db, sqltier.Config{Dialect: p.dialect, Readers: p.readers})
		errs := calls(t.Context(), r, "secret-key")
		errs["Validate"] = r.Validate()
		for call, err := range errs {
			if !errors.Is(err, sqltier.ErrSchema) || !strings.Contains(err.Error(), "0002_twofold_cells") {
				t.Errorf("%s = %v, want %v", call, err, sqltier.ErrSchema)
			} else if strings.Contains(err.Error(), "secret-key") {
				t.Errorf("%s quotes the key: %v", call, err)
			}
		}
		if err := r.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
		store(t, r, "k", cell(t, 10), time.Minute)
		if _, err := p.db.ExecContext(t.Context(), `ALTER TABLE twofold_cells RENAME COLUMN until TO ends`); err != nil {
			t.Fatal(err)
		}
		if _, err := tiercall.Get(t.Context(), r, "k"); !errors.Is(err, sqltier.ErrSchema) {
			t.Errorf("Get from another table = %v, want %v", err, sqltier.ErrSchema)
		}
	})
}

func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r := sqltier.New(p.db, sqltier.Config{Dialect: p.dialect, Table: "other_cells"})
				if err := r.Install(t.Context()); err != nil {
					t.Errorf("Install = %v", err)
				}
				n := tier.NewNonce()
				if _, err := tiercall.Claim(t.Context(), r, fmt.Sprint("k", i), tier.Claim{Nonce: n, Lease: time.Minute}); err != nil {
					t.Errorf("Claim = %v", err)
				}
			})
		}
		wg.Wait()
	})
}

// Both kinds of migrations match Install, and can be reverted.
func TestMigrations(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		files := sqltier.Migrations(p.dialect)
		read := func(name string) string {
			t.Helper()
			text, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		up, down := read("migrate/0002_twofold_cells.up.sql"), read("migrate/0002_twofold_cells.down.sql")
		if want := "-- +goose Up\n" + up + "\n-- +goose Down\n" + down; read("goose/0002_twofold_cells.sql") != want {
			t.Errorf("the migrations of goose and of golang-migrate differ")
		}
		if up != sqltier.Schema(p.dialect) {
			t.Errorf("Schema is not the migration")
		}
		r := sqltier.New(p.db, sqltier.Config{Dialect: p.dialect, Readers: p.readers})
		for range 2 {
			for _, script := range []string{up, down} {
				if _, err := p.db.ExecContext(t.Context(), script); err != nil {
					t.Fatal(err)
				}
				if err := r.Ping(t.Context()); (err == nil) != (script == up) {
					t.Errorf("Ping with the table there %v = %v", script == up, err)
				}
			}
		}
	})
	if sqltier.Migrations(0) != nil || sqltier.Schema(9) != "" {
		t.Errorf("an unknown dialect has a schema")
	}
}

func TestDialectNames(t *testing.T) {
	for d, want := range map[sqltier.Dialect]string{sqltier.SQLite: "sqlite", sqltier.Postgres: "postgres", 0: "none"} {
		if got := d.String(); got != want {
			t.Errorf("Dialect(%d).String() = %q, want %q", d, got, want)
		}
	}
}

// A closed or unreachable database is no reason to refuse the tier.
func TestClosedDatabase(t *testing.T) {
	t.Parallel()
	f := dbtest.SQLite(t)
	r := installed(t, f.Writer, sqltier.Config{Dialect: sqltier.SQLite})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for call, err := range calls(t.Context(), r, "secret-key") {
		if err == nil || strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%s on a closed database = %v, want an error without the key", call, err)
		}
	}
	if err := r.Validate(); err != nil {
		t.Errorf("Validate = %v, want nil", err)
	}
}

// Install leaves a table of the program alone.
func TestInstallRefusesForeignTable(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if _, err := p.db.ExecContext(t.Context(), "CREATE TABLE orders (key INT PRIMARY KEY, until INT)"); err != nil {
			t.Fatal(err)
		}
		err := sqltier.New(p.db, sqltier.Config{Dialect: p.dialect, Readers: p.readers, Table: "orders"}).Install(t.Context())
		const want = "Table is the name of a table that is there and has other columns; choose another name"
		if !errors.Is(err, sqltier.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("Install = %v, want ErrConfig with %q", err, want)
		}
	})
}
