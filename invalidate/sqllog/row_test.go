package sqllog_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/key"
)

// execs records the statements of a transaction.
type execs struct {
	query []string
	args  [][]any
	err   error
}

func (e *execs) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	e.query, e.args = append(e.query, query), append(e.args, args)
	return nil, e.err
}

func keyScope(t testing.TB) invalidate.Scope {
	t.Helper()
	k, err := key.Space{Tenant: "default", Namespace: "users:v1"}.Key("42")
	if err != nil {
		t.Fatal(err)
	}
	return invalidate.Key(k)
}

// People also write the text of a row by hand.
func TestAppendText(t *testing.T) {
	t.Parallel()
	scopes := []invalidate.Scope{
		keyScope(t), invalidate.Tag("default", "org:7"), invalidate.Prefix("default", "users:v1:"),
		invalidate.Tenant("acme"), invalidate.All(),
	}
	const text = `[["k","default:users:v1:42"],["t","default","org:7"],["p","default","users:v1:"],["p","acme",""],["a"]]`
	for dialect, want := range map[sqllog.Dialect]string{
		sqllog.Postgres: "INSERT INTO app.o (ns, scopes) VALUES ($1, $2)",
		sqllog.SQLite:   "INSERT INTO app.o (ns, scopes) VALUES (?1, ?2)",
		sqllog.MariaDB:  "INSERT INTO app.o (ns, scopes) VALUES (?, ?)",
	} {
		l := sqllog.New(pool(t), sqllog.Config{Dialect: dialect, Namespace: "n", Tables: sqllog.Tables{Schema: "app", Outbox: "o"}})
		tx := &execs{}
		if err := l.Append(t.Context(), tx, scopes...); err != nil || !slices.Equal(tx.query, []string{want}) || !slices.Equal(tx.args[0], []any{"n", text}) {
			t.Errorf("%v: Append runs %q with %q, %v; want %q with %q", dialect, tx.query, tx.args, err, want, text)
		}
	}
}

// Many scopes become several rows of one statement.
func TestAppendOfMany(t *testing.T) {
	t.Parallel()
	var many []invalidate.Scope
	for i := range 2001 {
		many = append(many, invalidate.Tag("default", fmt.Sprint(i)))
	}
	for dialect, args := range map[sqllog.Dialect]int{sqllog.Postgres: 4, sqllog.SQLite: 4, sqllog.MariaDB: 6} {
		tx := &execs{}
		if err := sqllog.New(pool(t), sqllog.Config{Dialect: dialect}).Append(t.Context(), tx, many...); err != nil {
			t.Fatal(err)
		}
		if len(tx.query) != 1 || len(tx.args[0]) != args || strings.Count(tx.query[0], "(") != 4 {
			t.Errorf("%v: %d statements, the first is %.100q with %d arguments", dialect, len(tx.query), tx.query[0], len(tx.args[0]))
		}
		for _, text := range tx.args[0][len(tx.args[0])-1:] {
			if text != `[["t","default","2000"]]` {
				t.Errorf("%v: the last row is %q", dialect, text)
			}
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	l := sqllog.New(pool(t), sqllog.Config{Dialect: sqllog.Postgres})
	tx := &execs{}
	for name, s := range map[string]invalidate.Scope{
		"the zero Scope": {}, "a bad prefix": invalidate.Prefix("default", ""),
		"a bad tag": invalidate.Tag("secret:x", "secret"),
	} {
		err := l.Append(t.Context(), tx, invalidate.All(), s)
		if !errors.Is(err, sqllog.ErrScope) || !strings.Contains(err.Error(), "scope 1") || strings.Contains(err.Error(), "secret") {
			t.Errorf("Append of %s = %v, want ErrScope with its place", name, err)
		}
	}
	if err := l.Append(t.Context(), tx); err != nil {
		t.Errorf("Append of nothing = %v", err)
	}
	if len(tx.query) > 0 {
		t.Errorf("statements %q, want none", tx.query)
	}
	tx.err = errors.New("boom")
	if err := l.Append(t.Context(), tx, invalidate.All()); !errors.Is(err, tx.err) {
		t.Errorf("Append = %v, want what the database said", err)
	}
}

// JSON cannot hold bytes that are not UTF-8. A prefix that ends inside a character then covers
// more, never less.
func TestPrefixWithinCharacter(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]invalidate.Scope{
		"users:v1:\xc3": invalidate.Prefix("acme", "users:v1:"), "\xf0\x9f": invalidate.Tenant("acme"), "é": invalidate.Prefix("acme", "é"),
	} {
		texts, err := sqllog.RowTexts(invalidate.Prefix("acme", prefix))
		if err != nil {
			t.Fatal(err)
		}
		if _, fences, ok := sqllog.ParseRow(texts[0]); !ok || fences[0].Scope != want {
			t.Errorf("prefix %q is %+v, want %+v", prefix, fences, invalidate.Fence{Scope: want})
		}
	}
}

// Everything that can be appended is read back unchanged.
func TestRowsRoundTrip(t *testing.T) {
	t.Parallel()
	id := rapid.StringMatching(`[^\x00]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		var scopes []invalidate.Scope
		var want []invalidate.Fence
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			text := id.Draw(t, "text")
			s := []invalidate.Scope{invalidate.Tag("a", text), invalidate.Prefix("a", text), invalidate.Tenant("b"), invalidate.All()}[rapid.IntRange(0, 3).Draw(t, "kind")]
			if k, err := (key.Space{Tenant: "a", Namespace: "n"}).Key(key.Text(text)); err == nil && rapid.Bool().Draw(t, "key") {
				s = invalidate.Key(k)
			}
			if s.Validate() != nil {
				continue
			}
			scopes, want = append(scopes, s), append(want, invalidate.Fence{Scope: s})
		}
		texts, err := sqllog.RowTexts(scopes...)
		if err != nil || len(texts) > 1 {
			t.Fatalf("RowTexts = %q, %v", texts, err)
		}
		var got []invalidate.Fence
		for _, text := range texts {
			_, fences, ok := sqllog.ParseRow(text)
			if !ok {
				t.Fatalf("%q does not parse", text)
			}
			got = append(got, fences...)
		}
		byText := func(a, b invalidate.Fence) int { return strings.Compare(a.Scope.String(), b.Scope.String()) }
		slices.SortFunc(got, byText)
		slices.SortFunc(want, byText)
		if !slices.Equal(got, want) {
			t.Fatalf("%q is %+v, want %+v", texts, got, want)
		}
	})
}
