package triggers_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// nowhere is a database that cannot be reached.
type nowhere struct{}

var errNowhere = errors.New("nowhere")

func (nowhere) Connect(context.Context) (driver.Conn, error) { return nil, errNowhere }
func (nowhere) Driver() driver.Driver                        { return nil }

func pool(t *testing.T) *sql.DB {
	t.Helper()
	db := sql.OpenDB(nowhere{})
	t.Cleanup(func() { _ = db.Close() })
	return db
}

var postgres = sqllog.Config{Dialect: sqllog.Postgres}

// Each fault names its field, the shape of the value and a remedy, and all are reported together.
func TestTableFaults(t *testing.T) {
	t.Parallel()
	good := func() triggers.Table {
		return triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
	}
	row := func(r triggers.Row) func(*triggers.Table) { return func(t *triggers.Table) { t.Rows[0] = r } }
	for name, tt := range map[string]struct {
		set  func(*triggers.Table)
		want string
	}{
		"no name":             {func(t *triggers.Table) { t.Name = "" }, "Name has 0 bytes; name one"},
		"a long name":         {func(t *triggers.Table) { t.Name = strings.Repeat("secret", 11) }, "Name has 66 bytes; name one"},
		"a NUL":               {func(t *triggers.Table) { t.Name = "secret\x00" }, "Name has 7 bytes"},
		"not UTF-8":           {func(t *triggers.Table) { t.Schema = "secret\xff" }, "Schema has 7 bytes"},
		"a dot first":         {func(t *triggers.Table) { t.Name = ".users" }, "Name has a dot first; write"},
		"no rows":             {func(t *triggers.Table) { t.Rows = nil }, "Rows is empty; say"},
		"a tenant":            {func(t *triggers.Table) { t.Tenant = "secret:" }, "Tenant of 7 bytes"},
		"two tenants":         {func(t *triggers.Table) { t.Tenant, t.TenantColumn = "a", "b" }, "TenantColumn is set beside Tenant; set one"},
		"an empty unique":     {func(t *triggers.Table) { t.Unique = [][]string{{}} }, "Unique[0] has no columns; name"},
		"key and tag":         {row(triggers.Row{Key: "a", Tag: "b", Column: "id"}), "Rows[0].Key has 1 bytes and Tag 1; set one"},
		"neither":             {row(triggers.Row{Column: "id"}), "Rows[0].Key has 0 bytes and Tag 0; set one"},
		"a composite key":     {row(triggers.Row{Key: "a", Columns: []string{"x", "y"}}), "Rows[0].Columns has 2 columns beside Key: a key of several values is hashed, which SQL cannot do; give the value a tag"},
		"a key of nothing":    {row(triggers.Row{Key: "a"}), "Rows[0].Column is empty; name"},
		"both columns":        {row(triggers.Row{Tag: "a", Column: "x", Columns: []string{"y"}}), "Rows[0].Column is set beside Columns; put"},
		"a bad namespace":     {row(triggers.Row{Key: "secret::", Column: "x"}), "Rows[0].Key of 8 bytes"},
		"a long tag":          {row(triggers.Row{Tag: strings.Repeat("secret", 50)}), "Rows[0].Tag of 300 bytes"},
		"an empty Only":       {row(triggers.Row{Key: "a", Column: "id", Only: []string{""}}), "Rows[0].Only has 0 bytes"},
		"Only without Unique": {row(triggers.Row{Tag: "a", Only: []string{"x"}}), "Unique is empty and a Row has Only; name"},
	} {
		table := good()
		tt.set(&table)
		up, down, err := triggers.SQL(postgres, table)
		if !errors.Is(err, triggers.ErrTable) || !strings.Contains(err.Error(), "tables[0]."+tt.want) || up+down != "" {
			t.Errorf("%s: SQL = %q, %v; want ErrTable with %q", name, up+down, err, tt.want)
		}
	}
	for name, err := range map[string]error{
		"no tables":  onlyErr(triggers.SQL(postgres)),
		"two alike":  onlyErr(triggers.SQL(sqllog.Config{Dialect: sqllog.SQLite}, good(), good())),
		"a bad pair": onlyErr(triggers.SQL(sqllog.Config{Dialect: sqllog.MariaDB}, triggers.Table{}, triggers.Table{Name: "a"})),
		"Install":    triggers.Install(t.Context(), pool(t), postgres),
	} {
		if !errors.Is(err, triggers.ErrTable) {
			t.Errorf("%s: %v, want ErrTable", name, err)
		}
	}
	bad := sqllog.Config{Dialect: sqllog.SQLite, Namespace: "not a name"}
	for name, err := range map[string]error{
		"no dialect":           onlyErr(triggers.SQL(sqllog.Config{}, good())),
		"another dialect":      onlyErr(triggers.SQL(sqllog.Config{Dialect: 9}, good())),
		"a bad configuration":  onlyErr(triggers.SQL(bad, good())),
		"Check of a bad one":   triggers.Check(t.Context(), pool(t), bad, []triggers.Table{good()}),
		"Install of a bad one": triggers.Install(t.Context(), pool(t), bad, good()),
		"no database":          triggers.Check(t.Context(), nil, postgres, []triggers.Table{good()}),
	} {
		if !errors.Is(err, sqllog.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
	if err := triggers.Check(t.Context(), pool(t), postgres, []triggers.Table{good()}); !errors.Is(err, errNowhere) {
		t.Errorf("Check = %v, want what the database says", err)
	}
}

func onlyErr(_, _ string, err error) error { return err }

// The same input gives the same bytes. Names stay within the limits of the database.
func TestTriggersText(t *testing.T) {
	t.Parallel()
	long := triggers.Table{Name: "app." + strings.Repeat("é", 31), Rows: []triggers.Row{{Tag: "all"}}}
	other := long
	other.Name += "x"
	for _, d := range []sqllog.Dialect{sqllog.Postgres, sqllog.SQLite, sqllog.MariaDB} {
		up, down, err := triggers.SQL(sqllog.Config{Dialect: d}, long, other)
		again, _, _ := triggers.SQL(sqllog.Config{Dialect: d}, long, other)
		if err != nil || up != again || up == "" || down == "" {
			t.Fatalf("%v: SQL = %d and %d bytes, %v; want the same bytes twice", d, len(up), len(again), err)
		}
		if d == sqllog.Postgres && strings.Count(down, "_changed_") != 2 {
			t.Errorf("%v: down = %q", d, down)
		}
		if !strings.Contains(up, "-- Made by package triggers of sqllog") {
			t.Errorf("%v: the text does not say what made it", d)
		}
	}
}

// Older versions of SQLite, such as 3.40, refuse JSON functions in triggers on a connection with trusted_schema off,
// which is what SQLite recommends. These functions are allowed in every version.
func TestTriggersOfSQLiteCallHarmlessFunctions(t *testing.T) {
	t.Parallel()
	harmless := []string{"char", "group_concat", "hex", "instr", "length", "typeof"}
	up, _, err := triggers.SQL(sqllog.Config{Dialect: sqllog.SQLite}, triggers.Table{Name: "users", TenantColumn: "tenant", Unique: [][]string{{"id"}}, Rows: []triggers.Row{
		{Key: "users:v1", Column: "id"}, {Tag: "all"}, {Tag: "seat:", Columns: []string{"org", "name"}, Only: []string{"name"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range regexp.MustCompile(`([a-z_]+)\(`).FindAllStringSubmatch(up, -1) {
		if !slices.Contains(harmless, call[1]) {
			t.Errorf("a trigger calls %s, want only %v", call[1], harmless)
		}
	}
}
