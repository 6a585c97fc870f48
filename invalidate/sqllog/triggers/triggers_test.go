package sqllog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/key"
)

func keyOf(t testing.TB, tenant, namespace, id string) invalidate.Fence {
	t.Helper()
	k, err := key.Space{Tenant: tenant, Namespace: namespace}.Key(id)
	if err != nil {
		t.Fatal(err)
	}
	return invalidate.Key(k).Fence()
}

// What triggers write is spelled as a cache spells it.
func TestValuesOfTriggers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]invalidate.Fence{
		`[["v","default","users:v1",42]]`:                   {keyOf(t, "default", "users:v1", "42")},
		`[["v","default","users:v1","42"]]`:                 {keyOf(t, "default", "users:v1", "42")},
		`[["v","default","users:v1",-9223372036854775808]]`: {keyOf(t, "default", "users:v1", key.Int(-1<<63))},
		`[["v","default","users:v1",9007199254740993]]`:     {keyOf(t, "default", "users:v1", "9007199254740993")},
		`[["v","default","users:v1",18446744073709551615]]`: {keyOf(t, "default", "users:v1", key.Uint(1<<64-1))},
		`[["v",7,"users:v1","a:b é"]]`:                      {keyOf(t, "7", "users:v1", key.Text("a:b é"))},
		`[["w","acme","seat:","a","b",3]]`:                  {invalidate.Tag("acme", "seat:a:b:3").Fence()},
		`[["w","acme","users"]]`:                            {invalidate.Tag("acme", "users").Fence()},
		// Values that no cache can have name nothing.
		`[["v","default","users:v1",""]]`:                                    nil,
		`[["v","a:b","users:v1",1],["v","","x",1],["v","a:b","users:v1"]]`:   nil,
		`[["w","","x"],["w","a:b"]]`:                                         nil,
		`[["w","default","` + strings.Repeat("x", 257) + `"]]`:               nil,
		`[["v","default","users:v1","` + strings.Repeat("x", 1025) + `"]]`:   nil,
		`[["v","default","users:v1","` + strings.Repeat("x", 1100) + `",1]]`: {{}},
		// Other forms do not parse.
		`[["v"]]`: {{}}, `[["v","a"]]`: {{}}, `[["w"]]`: {{}}, `[["v","a","b",true]]`: {{}}, `[["v","a","b",null]]`: {{}},
		`[["v","a","b",1.5]]`: {{}}, `[["v","a","b",1e3]]`: {{}}, `[["v","a","b",-0]]`: {{}}, `[["v","a",7,1]]`: {{}},
		`[["v","a","b",[1]]]`: {{}}, `[["w","a","b",1.0]]`: {{}}, `[["v","a","b",18446744073709551616]]`: {{}}, `[["v","a","b",1]]]`: {{}},
	} {
		_, fences, ok := sqllog.ParseRow(text)
		if !ok {
			fences = []invalidate.Fence{{}}
		}
		if d := cmp.Diff(want, fences); d != "" {
			t.Errorf("%.80s (-want +got):\n%s", text, d)
		}
	}
	for text, want := range map[string]invalidate.Scope{
		`[["v","acme","users:v1"]]`: invalidate.Prefix("acme", "users:v1:"), `[["w","acme"]]`: invalidate.Tenant("acme"),
	} {
		if _, fences, ok := sqllog.ParseRow(text); !ok || fences[0] != want.Fence() {
			t.Errorf("%s = %+v, %v; want %v", text, fences, ok, want)
		}
	}
}

// Each fault names its field, the shape of the value and a remedy, and all are reported together.
func TestTableFaults(t *testing.T) {
	t.Parallel()
	good := func() sqllog.Table {
		return sqllog.Table{Name: "users", Rows: []sqllog.Row{{Key: "users:v1", Column: "id"}}}
	}
	row := func(r sqllog.Row) func(*sqllog.Table) { return func(t *sqllog.Table) { t.Rows[0] = r } }
	for name, tt := range map[string]struct {
		set  func(*sqllog.Table)
		want string
	}{
		"no name":             {func(t *sqllog.Table) { t.Name = "" }, "Name has 0 bytes; name one"},
		"a long name":         {func(t *sqllog.Table) { t.Name = strings.Repeat("secret", 11) }, "Name has 66 bytes; name one"},
		"a NUL":               {func(t *sqllog.Table) { t.Name = "secret\x00" }, "Name has 7 bytes"},
		"not UTF-8":           {func(t *sqllog.Table) { t.Schema = "secret\xff" }, "Schema has 7 bytes"},
		"a dot first":         {func(t *sqllog.Table) { t.Name = ".users" }, "Name has a dot first; write"},
		"no rows":             {func(t *sqllog.Table) { t.Rows = nil }, "Rows is empty; say"},
		"a tenant":            {func(t *sqllog.Table) { t.Tenant = "secret:" }, "Tenant of 7 bytes"},
		"two tenants":         {func(t *sqllog.Table) { t.Tenant, t.TenantColumn = "a", "b" }, "TenantColumn is set beside Tenant; set one"},
		"an empty unique":     {func(t *sqllog.Table) { t.Unique = [][]string{{}} }, "Unique[0] has no columns; name"},
		"key and tag":         {row(sqllog.Row{Key: "a", Tag: "b", Column: "id"}), "Rows[0].Key has 1 bytes and Tag 1; set one"},
		"neither":             {row(sqllog.Row{Column: "id"}), "Rows[0].Key has 0 bytes and Tag 0; set one"},
		"a composite key":     {row(sqllog.Row{Key: "a", Columns: []string{"x", "y"}}), "Rows[0].Columns has 2 columns beside Key: a key of several values is hashed, which SQL cannot do; give the value a tag"},
		"a key of nothing":    {row(sqllog.Row{Key: "a"}), "Rows[0].Column is empty; name"},
		"both columns":        {row(sqllog.Row{Tag: "a", Column: "x", Columns: []string{"y"}}), "Rows[0].Column is set beside Columns; put"},
		"a bad namespace":     {row(sqllog.Row{Key: "secret::", Column: "x"}), "Rows[0].Key of 8 bytes"},
		"a long tag":          {row(sqllog.Row{Tag: strings.Repeat("secret", 50)}), "Rows[0].Tag of 300 bytes"},
		"an empty Only":       {row(sqllog.Row{Key: "a", Column: "id", Only: []string{""}}), "Rows[0].Only has 0 bytes"},
		"Only without Unique": {row(sqllog.Row{Tag: "a", Only: []string{"x"}}), "Unique is empty and a Row has Only; name"},
	} {
		table := good()
		tt.set(&table)
		up, down, err := sqllog.Triggers(sqllog.Postgres, table)
		if !errors.Is(err, sqllog.ErrTable) || !strings.Contains(err.Error(), "tables[0]."+tt.want) || up+down != "" {
			t.Errorf("%s: Triggers = %q, %v; want ErrTable with %q", name, up+down, err, tt.want)
		}
	}
	for name, err := range map[string]error{
		"no tables":  onlyErr(sqllog.Triggers(sqllog.Postgres)),
		"a dialect":  onlyErr(sqllog.Triggers(9, good())),
		"two alike":  onlyErr(sqllog.Triggers(sqllog.SQLite, good(), good())),
		"of a log":   onlyErr(sqllog.New(pool(t), sqllog.Config{Dialect: sqllog.MariaDB}).Triggers()),
		"a bad pair": onlyErr(sqllog.Triggers(sqllog.MariaDB, sqllog.Table{}, sqllog.Table{Name: "a"})),
	} {
		if !errors.Is(err, sqllog.ErrTable) {
			t.Errorf("%s: %v, want ErrTable", name, err)
		}
	}
	l := sqllog.New(pool(t), sqllog.Config{Dialect: sqllog.Postgres})
	if err := l.CheckTriggers(t.Context(), nil, good()); !errors.Is(err, sqllog.ErrConfig) {
		t.Errorf("CheckTriggers without a database = %v, want ErrConfig", err)
	}
	if err := l.CheckTriggers(t.Context(), pool(t), good()); !errors.Is(err, errNowhere) {
		t.Errorf("CheckTriggers = %v, want what the database says", err)
	}
	if err := l.InstallTriggers(t.Context(), pool(t)); !errors.Is(err, sqllog.ErrTable) {
		t.Errorf("InstallTriggers of nothing = %v, want ErrTable", err)
	}
	bad := &sqllog.Log{}
	if _, _, err := bad.Triggers(good()); !errors.Is(err, sqllog.ErrConfig) {
		t.Errorf("Triggers of the zero Log = %v, want ErrConfig", err)
	}
	if err := bad.CheckTriggers(t.Context(), pool(t), good()); !errors.Is(err, sqllog.ErrConfig) {
		t.Errorf("CheckTriggers of the zero Log = %v, want ErrConfig", err)
	}
}

func onlyErr(_, _ string, err error) error { return err }

// The same input gives the same bytes. Names stay within the limits of the database.
func TestTriggersText(t *testing.T) {
	t.Parallel()
	long := sqllog.Table{Name: "app." + strings.Repeat("é", 31), Rows: []sqllog.Row{{Tag: "all"}}}
	other := long
	other.Name += "x"
	for _, d := range []sqllog.Dialect{sqllog.Postgres, sqllog.SQLite, sqllog.MariaDB} {
		up, down, err := sqllog.Triggers(d, long, other)
		again, _, _ := sqllog.Triggers(d, long, other)
		if err != nil || up != again || up == "" || down == "" {
			t.Fatalf("%v: Triggers = %d and %d bytes, %v; want the same bytes twice", d, len(up), len(again), err)
		}
		if d == sqllog.Postgres && strings.Count(down, "_changed_") != 2 {
			t.Errorf("%v: down = %q", d, down)
		}
		if !strings.Contains(up, "-- Made by sqllog.Triggers") {
			t.Errorf("%v: the text does not say what made it", d)
		}
	}
}
