package sqltiertest_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// A cell that is not a valid frame belongs to no process. A claim on it must neither fail nor retry
// forever.
func TestOddCells(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{})
		for _, size := range []int{0, 1, 8, 9} {
			key := fmt.Sprint("k", size)
			if _, err := p.db.ExecContext(t.Context(), `INSERT INTO twofold_cells (key, cell, until) VALUES ($1, $2, 9000000000000)`, []byte(key), make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			n := tier.NewNonce()
			if got, err := tiercall.Claim(ctx, r, key, tier.Claim{Nonce: n, Lease: time.Minute}); err != nil || !got.Granted {
				t.Errorf("Claim over %d zeros = %+v, %v; want it granted", size, got, err)
			}
			if ok, err := tiercall.Fill(ctx, r, key, tier.Fill{Nonce: n}); err != nil || !ok {
				t.Errorf("Fill that releases = %v, %v; want true", ok, err)
			}
			cancel()
		}
	})
}

// A statement with many keys waits for a row that another process is changing, and then sees the
// changed row.
func TestPostgresWaitsAndLooksAgain(t *testing.T) {
	_, db := postgres(t).Database(t)
	r := installed(t, db, sqltier.Config{Dialect: sqltier.Postgres})
	if _, err := r.Sweep(t.Context()); err != nil { // the next one is after 64 fills: it would remove the row that has expired
		t.Fatal(err)
	}
	for name, act := range map[string]func(ctx context.Context, n tier.Nonce) error{
		"Remove":         func(ctx context.Context, _ tier.Nonce) error { return tiercall.Remove(ctx, r, "k") },
		"Remove of many": func(ctx context.Context, _ tier.Nonce) error { return tiercall.Remove(ctx, r, "a", "k", "z") },
		"Fill": func(ctx context.Context, n tier.Nonce) error {
			if ok, err := tiercall.Fill(ctx, r, "k", tier.Fill{Nonce: n, Cell: cell(t, 100), TTL: time.Hour}); ok || err != nil {
				return fmt.Errorf("Fill of a claim that was lost = %v, %w", ok, err)
			}
			return nil
		},
		"FillMany": func(ctx context.Context, n tier.Nonce) error {
			f := tier.Fill{Nonce: n, Cell: cell(t, 100), TTL: time.Hour}
			if ok, err := tiercall.FillMany(ctx, r, []string{"a", "k", "z"}, []tier.Fill{f, f, f}); ok[1] || err != nil {
				return fmt.Errorf("FillMany of a claim that was lost = %v, %w", ok, err)
			}
			return nil
		},
		"ClaimMany": func(ctx context.Context, _ tier.Nonce) error {
			c := tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute}
			if got, err := tiercall.ClaimMany(ctx, r, []string{"a", "k", "z"}, []tier.Claim{c, c, c}); got[1].Granted || err != nil {
				return fmt.Errorf("ClaimMany over the claim of another = %+v, %w", got[1], err)
			}
			return nil
		},
	} {
		n := claim(t, r, "k", time.Minute)
		if name == "ClaimMany" { // over a row that has already expired
			mustExec(t, db, `UPDATE twofold_cells SET until = 1 WHERE key = 'k'`)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		other := tier.LeaseCell(tier.NewNonce())
		if _, err := tx.ExecContext(t.Context(), `UPDATE twofold_cells SET cell = $1, until = 9000000000000 WHERE key = 'k'`, other); err != nil {
			t.Fatal(err)
		}
		over := make(chan error)
		go func() { over <- act(t.Context(), n) }()
		eventually(t, name+" does not wait", func() bool {
			var waits bool
			err := db.QueryRowContext(t.Context(), `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted`).Scan(&waits)
			return err == nil && waits
		})
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-over; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		frame, err := tiercall.Get(t.Context(), r, "k")
		if gone := frame == nil; err != nil || gone != strings.HasPrefix(name, "Remove") {
			t.Errorf("%s: the row is gone: %v, %v", name, gone, err)
		}
		mustExec(t, db, `DELETE FROM twofold_cells`)
	}
}

func mustExec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// Processes with cells in different tables share nothing.
func TestName(t *testing.T) {
	names := map[string]bool{}
	for _, cfg := range []sqltier.Config{{Dialect: sqltier.SQLite}, {Dialect: sqltier.SQLite, Table: "other"}, {Dialect: sqltier.Postgres}} {
		r := sqltier.New(nil, cfg)
		name := r.Describe(r).Name
		if name == "" || names[name] {
			t.Fatalf("a tier on %v, table %q, has no unique name: %q", cfg.Dialect, cfg.Table, name)
		}
		names[name] = true
	}
}
