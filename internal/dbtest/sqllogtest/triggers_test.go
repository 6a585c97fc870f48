package sqllogtest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate/sqllog"
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

// Control: without one of the triggers, the program above misses a change, and CheckTriggers names
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
			l := w.open(sqllog.Config{})
			err := l.CheckTriggers(t.Context(), w.db, w.table)
			if !errors.Is(err, sqllog.ErrTriggers) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "missing") {
				t.Errorf("without %s: CheckTriggers = %v", name, err)
			}
			if fault := w.check(t, 1, 2000); fault == "" {
				t.Errorf("without %s nothing was missed", name)
			}
			if err := l.InstallTriggers(t.Context(), w.db, w.table); err != nil {
				t.Fatal(err)
			}
			if err := l.CheckTriggers(t.Context(), w.db, w.table); err != nil {
				t.Error(err)
			}
		}
	})
}

// CheckTriggers names what is disabled, of another text, or without a right.
func TestCheckTriggers(t *testing.T) {
	t.Parallel()
	eachWatched(t, func(t *testing.T, watch func(testing.TB) *watched) {
		w := watch(t)
		l := w.open(sqllog.Config{})
		more := w.table
		more.Rows = append(slices.Clone(more.Rows), sqllog.Row{Tag: "name:", Column: "name"})
		err := l.CheckTriggers(t.Context(), w.db, more)
		if !errors.Is(err, sqllog.ErrTriggers) || !strings.Contains(err.Error(), `"twofold_changed_users_insert"`) || !strings.Contains(err.Error(), "outdated: migrate again") {
			t.Errorf("with another Table: CheckTriggers = %v, want the outdated triggers", err)
		}
		up, down, err := l.Triggers(w.table)
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
		if err := l.CheckTriggers(t.Context(), w.db, w.table); !errors.Is(err, sqllog.ErrTriggers) {
			t.Errorf("without triggers: CheckTriggers = %v, want ErrTriggers", err)
		}
		run(up)
		run(up)
		if err := l.CheckTriggers(t.Context(), w.db, w.table); err != nil {
			t.Errorf("with the text of Triggers: CheckTriggers = %v", err)
		}
	})
}
