package sqltiertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// A crash empties the table, as documented; a clean restart does not. Meanwhile calls fail, and
// afterwards they succeed again.
func TestPostgresRestarts(t *testing.T) {
	t.Parallel()
	s := dbtest.Postgres(t)
	_, db := s.Database(t)
	r := installed(t, db, sqltier.Config{Dialect: sqltier.Postgres})
	for _, tc := range []struct {
		name string
		end  func() error
		kept bool
	}{{"a clean restart", s.Shutdown, true}, {"a crash", s.Kill, false}} {
		store(t, r, tc.name, cell(t, 100), time.Hour)
		if err := tc.end(); err != nil {
			t.Fatal(err)
		}
		for call, err := range calls(t.Context(), r, "secret-key") {
			if err == nil || errors.Is(err, sqltier.ErrSchema) || strings.Contains(err.Error(), "secret-key") {
				t.Errorf("%s without a server = %v, want an error without the key", call, err)
			}
		}
		if err := r.Validate(); err != nil {
			t.Errorf("Validate without a server = %v, want nil", err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the server does not answer again", func() bool { return r.Ping(t.Context()) == nil })
		if got := has(t, r, tc.name); got != tc.kept {
			t.Errorf("after %s the cell is there: %v, want %v", tc.name, got, tc.kept)
		}
	}
}

// A standby serves no cells, neither before nor after its promotion.
func TestPostgresPromotion(t *testing.T) {
	t.Parallel()
	s := dbtest.Postgres(t)
	name, db := s.Database(t)
	primary := installed(t, db, sqltier.Config{Dialect: sqltier.Postgres})
	store(t, primary, "k", cell(t, 100), time.Hour)
	standby, err := s.Standby(0)
	if err != nil {
		t.Fatal(err)
	}
	db, err = standby.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := sqltier.New(db, sqltier.Config{Dialect: sqltier.Postgres})
	if frame, err := tiercall.Get(t.Context(), r, "k"); err == nil {
		t.Errorf("Get from a standby = %d bytes, want an error", len(frame))
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	if has(t, r, "k") {
		t.Errorf("a promoted standby has a cell of the primary")
	}
	store(t, r, "k", cell(t, 100), time.Hour)
}

// Two processes write to one file concurrently, and neither fails: each waits its turn.
func TestSQLiteWritersWait(t *testing.T) {
	t.Parallel()
	a := dbtest.SQLite(t)
	b, err := dbtest.OpenSQLite(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	var wg sync.WaitGroup
	for i, f := range []*dbtest.SQLiteFile{a, a, b, b} {
		r := installed(t, f.Writer, sqltier.Config{Dialect: sqltier.SQLite, Readers: f.Reader})
		wg.Go(func() {
			for n := range 100 {
				key := fmt.Sprint("k", n%10)
				nonce := tier.NewNonce()
				_, err := tiercall.Claim(t.Context(), r, key, tier.Claim{Nonce: nonce, Lease: time.Minute})
				_, err2 := tiercall.Fill(t.Context(), r, key, tier.Fill{Nonce: nonce, Cell: tier.LeaseCell(nonce), TTL: time.Millisecond})
				if err = errors.Join(err, err2, tiercall.Remove(t.Context(), r, key, "x")); err != nil {
					t.Errorf("writer %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A reader does not wait for a writer of another process.
func TestSQLiteLocked(t *testing.T) {
	t.Parallel()
	a := dbtest.SQLite(t)
	b, err := dbtest.OpenSQLite(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	r := installed(t, a.Writer, sqltier.Config{Dialect: sqltier.SQLite, Readers: a.Reader})
	store(t, r, "k", cell(t, 10), time.Hour)
	tx, err := b.Writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // there is nothing to roll back
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if frame, err := tiercall.Get(ctx, r, "k"); err != nil || frame == nil {
		t.Errorf("Get while another process writes = %d bytes, %v", len(frame), err)
	}
}
