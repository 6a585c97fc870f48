package sqllogtest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// eachWatched runs test for each kind of database, and for a table of PostgreSQL with partitions.
func eachWatched(t *testing.T, test func(t *testing.T, watch func(t testing.TB) *watched)) {
	t.Helper()
	for _, kind := range rigs {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, func(t testing.TB) *watched { t.Helper(); return watch(t, kind.open(t), false) })
		})
	}
	t.Run("partitions", func(t *testing.T) {
		t.Parallel()
		test(t, func(t testing.TB) *watched { t.Helper(); return watch(t, sharedPostgres(t), true) })
	})
}

// For every write of a client, the outbox covers each change of what the rows stand for.
func TestTriggersCoverEveryWrite(t *testing.T) {
	t.Parallel()
	eachWatched(t, func(t *testing.T, watch func(testing.TB) *watched) {
		w := watch(t)
		seed := uint64(time.Now().UnixNano())
		transactions := 400
		if testing.Short() {
			transactions = 100
		}
		if fault := w.check(t, seed, transactions); fault != "" {
			t.Error(fault)
		}
	})
}

// Control: without one of the triggers, the program above misses a change, and Check names
// the trigger.
func TestTriggersMissing(t *testing.T) {
	t.Parallel()
	eachWatched(t, func(t *testing.T, watch func(testing.TB) *watched) {
		w := watch(t)
		events := map[sqllog.Dialect][]string{
			sqllog.Postgres: {"insert", "update", "delete", "truncate"}, sqllog.MariaDB: {"insert", "update", "delete"},
			sqllog.SQLite: {"insert", "update", "delete", "replace_i", "replace_u"},
		}[w.dialect]
		for _, event := range events {
			name := "twofold_changed_users_" + event
			switch {
			case w.dialect != sqllog.Postgres:
				w.exec(t, "DROP TRIGGER "+name)
			case event == "truncate" && len(w.table.Unique[0]) == 2: // a TRUNCATE fires those of the partitions
				for _, part := range []string{"users", "users_0", "users_1", "users_2"} {
					w.exec(t, "DROP TRIGGER "+name+" ON "+part)
				}
			default:
				w.exec(t, "DROP TRIGGER "+name+" ON users")
			}
			err := triggers.Check(t.Context(), w.db, w.config(), []triggers.Table{w.table})
			if !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "missing") {
				t.Errorf("without %s: Check = %v", name, err)
			}
			if fault := w.check(t, 1, 2000); fault == "" {
				t.Errorf("without %s nothing was missed", name)
			}
			if err := triggers.Install(t.Context(), w.db, w.config(), w.table); err != nil {
				t.Fatal(err)
			}
			if err := triggers.Check(t.Context(), w.db, w.config(), []triggers.Table{w.table}); err != nil {
				t.Error(err)
			}
		}
	})
}

// Check names what is disabled, of another text, or without a right.
func TestCheckTriggers(t *testing.T) {
	t.Parallel()
	eachWatched(t, func(t *testing.T, watch func(testing.TB) *watched) {
		w := watch(t)
		more := w.table
		more.Rows = append(slices.Clone(more.Rows), triggers.Row{Tag: "name:", Column: "name"})
		err := triggers.Check(t.Context(), w.db, w.config(), []triggers.Table{more})
		if !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), `"twofold_changed_users_insert"`) || !strings.Contains(err.Error(), "outdated: migrate again") {
			t.Errorf("with another Table: Check = %v, want the outdated triggers", err)
		}
		up, down, err := triggers.SQL(w.config(), w.table)
		if err != nil {
			t.Fatal(err)
		}
		run := func(text string) {
			for s := range strings.SplitSeq(text, ";\n") {
				switch {
				case w.dialect != sqllog.MariaDB: // both drivers take many statements, with semicolons in them
					w.exec(t, text)
					return
				case strings.TrimSpace(s) != "":
					w.exec(t, s)
				}
			}
		}
		run(down)
		run(down)
		if err := triggers.Check(t.Context(), w.db, w.config(), []triggers.Table{w.table}); !errors.Is(err, triggers.ErrNotInstalled) {
			t.Errorf("without triggers: Check = %v, want ErrNotInstalled", err)
		}
		run(up)
		run(up)
		if err := triggers.Check(t.Context(), w.db, w.config(), []triggers.Table{w.table}); err != nil {
			t.Errorf("with the text of SQL: Check = %v", err)
		}
	})
}
