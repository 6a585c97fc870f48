package sqltier_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/sqltier"
	"github.com/twofold-go/twofold/tier"
)

func TestBadConfigurations(t *testing.T) {
	db := new(sql.DB)
	row := func(string, tier.Cell) ([]any, time.Time, error) { return nil, time.Time{}, nil }
	for name, cfg := range map[string]sqltier.Config{
		"no pools":            {},
		"no readers":          {Writer: db},
		"no table name":       {Writer: db, Readers: db, Tables: []sqltier.Table{{}}},
		"SQL for a name":      {Writer: db, Readers: db, Tables: []sqltier.Table{{Name: "x; DROP TABLE users"}}},
		"SQL for a column":    {Writer: db, Readers: db, Tables: []sqltier.Table{{Name: "x", Columns: []string{"a b"}, Row: row}}},
		"columns without row": {Writer: db, Readers: db, Tables: []sqltier.Table{{Name: "x", Columns: []string{"a"}}}},
		"row without columns": {Writer: db, Readers: db, Tables: []sqltier.Table{{Name: "x", Row: row}}},
	} {
		tr := sqltier.New(cfg)
		_, getErr := tr.Get(t.Context(), "k")
		_, claimErr := tr.Claim(t.Context(), "k", tier.Claim{Nonce: tier.NewNonce()})
		for call, err := range map[string]error{
			"Validate": tr.Validate(), "Ping": tr.Ping(t.Context()), "Get": getErr, "Claim": claimErr,
			"Log.Validate": sqltier.NewLog(tr, sqltier.LogConfig{}).Validate(),
		} {
			if !errors.Is(err, sqltier.ErrConfig) {
				t.Errorf("%s: %s = %v, want %v", name, call, err, sqltier.ErrConfig)
			}
		}
	}
}

// Keys that are not kept behave as with a tier that forgets: nobody waits, and nothing
// is found.
func TestUnkept(t *testing.T) {
	s := open(t, database(t))
	writer, readers := s.Pools()
	tr := sqltier.New(sqltier.Config{Writer: writer, Readers: readers, Unkept: []string{"app:mine:"}})
	for range 2 {
		n := tier.NewNonce()
		if got, err := tr.Claim(t.Context(), "app:mine:1", tier.Claim{Nonce: n, Lease: time.Minute}); err != nil || !got.Granted {
			t.Errorf("Claim = %+v, %v; want it granted", got, err)
		}
		if got, err := tr.Claim(t.Context(), "app:mine:1", tier.Claim{Seen: n, Nonce: n, Lease: time.Minute}); err != nil || !got.Granted {
			t.Errorf("a renewal = %+v, %v; want it granted", got, err)
		}
		if ok, err := tr.Fill(t.Context(), "app:mine:1", tier.Fill{Nonce: n, Cell: tier.HoldCell(n), TTL: time.Minute}); err != nil || !ok {
			t.Errorf("Fill = %v, %v; want true", ok, err)
		}
		if b, err := tr.Get(t.Context(), "app:mine:1"); err != nil || b != nil {
			t.Errorf("Get = %x, %v; want nothing", b, err)
		}
	}
	if _, err := tr.Claim(t.Context(), "app:mine:1", tier.Claim{Lease: time.Minute}); !errors.Is(err, tier.ErrNonce) {
		t.Errorf("Claim with the zero nonce = %v, want %v", err, tier.ErrNonce)
	}
	if err := tr.Unlink(t.Context(), "app:mine:1"); err != nil {
		t.Errorf("Unlink = %v", err)
	}
}

func TestSweep(t *testing.T) {
	s := open(t, database(t))
	writer, readers := s.Pools()
	now := time.Now()
	tr := sqltier.New(sqltier.Config{Writer: writer, Readers: readers, Now: func() time.Time { return now }})
	for key, lease := range map[string]time.Duration{"soon": time.Second, "late": time.Hour} {
		if _, err := tr.Claim(t.Context(), key, tier.Claim{Nonce: tier.NewNonce(), Lease: lease}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		later time.Duration
		want  int64
	}{{0, 0}, {time.Minute, 1}, {0, 0}, {2 * time.Hour, 1}} {
		now = now.Add(step.later)
		if n, err := tr.Sweep(t.Context()); err != nil || n != step.want {
			t.Errorf("Sweep = %d, %v; want %d", n, err, step.want)
		}
	}
}

// A row that is in the way by another unique column gives way: with a namespace's new
// version its old rows would make every claim fail, and every read load.
func TestAnotherKeyForTheSameDigest(t *testing.T) {
	s := open(t, database(t))
	tr := on(s, sqltier.Table{
		Name: "digest_cache", Columns: []string{"subscription_hash", "digest_type", "period_start", "period_end", "state"},
		Row: func(string, tier.Cell) ([]any, time.Time, error) {
			return []any{"h", "daily", 1, 2, "claimed"}, time.Time{}, nil
		},
	})
	for _, key := range []string{"app:digest:v1:x", "app:digest:v2:x"} {
		if got, err := tr.Claim(t.Context(), key, tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute}); err != nil || !got.Granted {
			t.Errorf("Claim = %+v, %v; want it granted", got, err)
		}
	}
	if b, err := tr.Get(t.Context(), "app:digest:v1:x"); err != nil || b != nil {
		t.Errorf("the old row is still there: %x, %v", b, err)
	}
}

// What people read stays when its cell goes, and is there for whoever claims next. What
// was claimed and never filled does not.
func TestKeptRows(t *testing.T) {
	s := open(t, database(t))
	writer, readers := s.Pools()
	now := time.Now()
	tr := sqltier.New(sqltier.Config{
		Writer: writer, Readers: readers, Now: func() time.Time { return now },
		Tables: []sqltier.Table{{
			Name: "digest_cache", Keep: "state = 'ready'", Columns: []string{"subscription_hash", "digest_type", "period_start", "period_end", "state", "content"},
			Row: func(key string, c tier.Cell) ([]any, time.Time, error) {
				if c.Kind != tier.Value {
					return []any{key, "daily", 1, 2, "claimed", nil}, time.Time{}, nil
				}
				return []any{key, "daily", 1, 2, "ready", string(c.Payload)}, time.Time{}, nil
			},
		}},
	})
	claim := func(key string) tier.Nonce {
		t.Helper()
		n := tier.NewNonce()
		if got, err := tr.Claim(t.Context(), key, tier.Claim{Nonce: n, Lease: time.Minute}); err != nil || !got.Granted {
			t.Fatalf("Claim = %+v, %v; want it granted", got, err)
		}
		return n
	}
	fill := func(key string, f tier.Fill) {
		t.Helper()
		if ok, err := tr.Fill(t.Context(), key, f); err != nil || !ok {
			t.Fatalf("Fill = %v, %v; want true", ok, err)
		}
	}
	want := func(when string, want ...string) {
		t.Helper()
		var got string
		err := readers.QueryRowContext(t.Context(), `SELECT coalesce(group_concat(cell_key || ' ' || state || ' ' || coalesce(content, '-'), ', ' ORDER BY cell_key), '')
			FROM digest_cache`).Scan(&got)
		if err != nil || got != strings.Join(want, ", ") {
			t.Errorf("%s the rows are %q, %v; want %q", when, got, err, want)
		}
	}
	cell := tier.Cell{Nonce: tier.NewNonce(), Codec: "raw", Payload: []byte("text")}
	frame, err := cell.Encode()
	if err != nil {
		t.Fatal(err)
	}
	fill("a", tier.Fill{Nonce: claim("a"), Cell: frame, TTL: time.Minute})
	fill("b", tier.Fill{Nonce: claim("b")})
	want("filled and released", "a ready text")
	now = now.Add(time.Hour)
	n := claim("a")
	claim("b")
	want("claimed again", "a ready text", "b claimed -")
	fill("a", tier.Fill{Nonce: n})
	want("and released", "a ready text", "b claimed -")
	if b, err := tr.Get(t.Context(), "a"); err != nil || b != nil {
		t.Errorf("a released cell is %x, %v", b, err)
	}
	now = now.Add(time.Hour)
	if n, err := tr.Sweep(t.Context()); err != nil || n != 1 {
		t.Errorf("Sweep = %d, %v; want 1", n, err)
	}
	want("swept", "a ready text")
	if err := tr.Unlink(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	want("unlinked")
}

// A hook that fails fails the write; what it says about the payload is its own affair.
func TestRowFails(t *testing.T) {
	s := open(t, database(t))
	failure := errors.New("no")
	tr := on(s, sqltier.Table{
		Name: "digest_cache", Columns: []string{"state"},
		Row: func(string, tier.Cell) ([]any, time.Time, error) { return nil, time.Time{}, failure },
	})
	_, err := tr.Claim(t.Context(), "secret-key", tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute})
	if !errors.Is(err, failure) || strings.Contains(err.Error(), "secret-key") {
		t.Errorf("Claim = %v, want %v and no key", err, failure)
	}
}
