package sqllogtest_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// uuid is a UUID as the packages for them have it.
type uuid [16]byte

func (u uuid) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

func (u *uuid) UnmarshalText(text []byte) error {
	_, err := hex.Decode(u[:], bytes.ReplaceAll(text, []byte("-"), nil))
	return err
}

// logged are the lines of a logger.
type logged struct {
	mu   sync.Mutex // protects text
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines returns the lines of a level.
func (l *logged) lines(level slog.Level) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, "level="+level.String()) {
			lines = append(lines, line)
		}
	}
	return lines
}

// openTiers returns the Tiers of one more process, and what they log.
func (r *rig) openTiers(t testing.TB) (*cache.Tiers, *logged) {
	t.Helper()
	out := &logged{}
	tiers, err := cache.Open(cache.TiersConfig{Log: r.open(sqllog.Config{}), Logger: slog.New(slog.NewTextHandler(out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tiers.Close(context.Background()) })
	return tiers, out
}

// newCache returns a cache whose loads are counted.
func newCache[K comparable](t testing.TB, tiers *cache.Tiers, namespace string) (c cache.Cache[K, int]) {
	t.Helper()
	var loads int
	c, err := cache.New(tiers, cache.For(namespace, func(context.Context, K) (int, error) { loads++; return loads, nil }))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantGet checks which load a value is of, once this process knows what the log knows.
func wantGet[K comparable](t testing.TB, tiers *cache.Tiers, c cache.Cache[K, int], k K, want int) {
	t.Helper()
	if err := tiers.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(t.Context(), k); got != want || err != nil {
		t.Fatalf("Get = load %d, %v; want load %d", got, err, want)
	}
}

// wantInsert checks which load a key is of after the row 42 was inserted.
func wantInsert[K comparable](t testing.TB, r *rig, tiers *cache.Tiers, c cache.Cache[K, int], k K, want int) {
	t.Helper()
	wantGet(t, tiers, c, k, 1)
	r.exec(t, "INSERT INTO users VALUES (42, 'a')")
	wantGet(t, tiers, c, k, want)
}

// A UUID is the same text in Go and in each database, so triggers name the keys of UUID types.
func TestTriggersOfUUIDs(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		column := "uuid"
		if r.dialect == sqllog.SQLite {
			column = "TEXT"
		}
		r.exec(t, "CREATE TABLE docs (id "+column+" PRIMARY KEY, name VARCHAR(9))")
		tiers, out := r.openTiers(t)
		docs, others := newCache[uuid](t, tiers, "docs:v1"), newCache[struct{ uuid }](t, tiers, "others:v1")
		r.installed(t, triggers.Table{Name: "docs", Rows: []triggers.Row{{Key: docs.Namespace(), Column: "id"}, {Key: others.Namespace(), Column: "id"}}})
		const text = "0123abcd-0000-4000-8000-0123456789ab"
		var k uuid
		if err := k.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			wantGet(t, tiers, docs, k, []int{1, 3, 4}[i])
			wantGet(t, tiers, docs, uuid{}, 2)
			wantGet(t, tiers, others, struct{ uuid }{k}, i+1)
			r.exec(t, []string{"INSERT INTO docs VALUES ('" + text + "', 'a')", "UPDATE docs SET name = 'b'", "DELETE FROM docs"}[i])
		}
		wantGet(t, tiers, docs, k, 5)
		if lines := out.lines(slog.LevelWarn); len(lines) > 0 {
			t.Errorf("warnings %q", lines)
		}
	})
}

// A trigger that cannot reach the cache that it is for is logged by the process that reads its row: once,
// in one line, with what to do.
func TestNamespacesThatMissTheirCache(t *testing.T) {
	t.Parallel()
	const (
		resembles = "the log names a namespace that no cache of this process has, and not the one that it resembles, whose cache therefore serves old values until their TTL: " +
			"give the Row of package triggers the Namespace of the cache; after a change of version, keep a Row for both until the last process of the old one has ended"
		hashed = "the log names a key by its value, but keys of this type are hashed, so all keys of the namespace are invalidated each time: use string, integer or UUID keys, " +
			"or give the values a tag and name it in the Row of package triggers"
	)
	for name, tt := range map[string]struct {
		cache  string // its namespace
		hashed bool   // its keys
		rows   []string
		want   string
		with   []string // attributes
		loads  int      // of the cache at the end
	}{
		"shorter":               {"ut:v1", false, []string{"ut"}, resembles, []string{"named=ut ", "cache=ut:v1"}, 1},
		"longer":                {"ut", false, []string{"ut:v1"}, resembles, []string{"named=ut:v1", "cache=ut\n"}, 1},
		"the next version":      {"ut:v1", false, []string{"ut:v2"}, resembles, []string{"named=ut:v2", "cache=ut:v1"}, 1},
		"hashed keys":           {"ut:v1", true, []string{"ut:v1"}, hashed, []string{"namespace=ut:v1", "keys=\"struct { ID int }\""}, 2},
		"the next version, too": {"ut:v1", false, []string{"ut:v2", "ut:v1"}, "", nil, 2},
		"another":               {"ut:v1", false, []string{"users:v1", "u", "ut1", "ut:list", "u:v1"}, "", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sqliteRig(t)
			r.exec(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
			table := triggers.Table{Name: "users"}
			for _, namespace := range tt.rows {
				table.Rows = append(table.Rows, triggers.Row{Key: namespace, Column: "id"})
			}
			r.installed(t, table)
			tiers, out := r.openTiers(t)
			if tt.hashed {
				wantInsert(t, r, tiers, newCache[struct{ ID int }](t, tiers, tt.cache), struct{ ID int }{42}, tt.loads)
			} else {
				wantInsert(t, r, tiers, newCache[int](t, tiers, tt.cache), 42, tt.loads)
			}
			for i := range 5 {
				r.exec(t, "INSERT INTO users VALUES (?, 'a')", i)
				if err := tiers.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			lines := out.lines(slog.LevelWarn)
			if tt.want == "" && len(lines) == 0 {
				return
			}
			if len(lines) != 1 || tt.want == "" || !strings.Contains(lines[0], tt.want) {
				t.Fatalf("warnings %q, want one with %q", lines, tt.want)
			}
			for _, attr := range tt.with {
				if !strings.Contains(lines[0], attr) {
					t.Errorf("%q has no %q", lines[0], attr)
				}
			}
		})
	}
}

// Each tenant whose hashed keys are named by a value loses the namespace, and no other. The hashes
// themselves, and all of a namespace, are what they say.
func TestHashedKeysByValue(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	tiers, out := r.openTiers(t)
	type id struct{ N int }
	c := newCache[id](t, tiers, "ut:v1")
	acme, globex, initech := c.Tenant("acme"), c.Tenant("globex"), c.Tenant("initech")
	wants := func(a, b, c int) {
		t.Helper()
		wantGet(t, tiers, acme, id{1}, a)
		wantGet(t, tiers, globex, id{1}, b)
		wantGet(t, tiers, initech, id{1}, c)
	}
	wants(1, 2, 3)
	r.exec(t, `INSERT INTO twofold_outbox (scopes) VALUES ('[["v","acme","ut:v1"],["k","`+globex.Key(id{2}).Text()+`"]]')`)
	wants(4, 2, 3)
	if lines := out.lines(slog.LevelWarn); len(lines) > 0 {
		t.Errorf("warnings %q, want none", lines)
	}
	r.exec(t, `INSERT INTO twofold_outbox (scopes) VALUES ('[["v","acme","ut:v1",1],["v","globex","ut:v1",2],["v","acme","ut:v1",3]]')`)
	wants(5, 6, 3)
	if lines := out.lines(slog.LevelWarn); len(lines) != 1 {
		t.Errorf("warnings %q, want one", lines)
	}
}
