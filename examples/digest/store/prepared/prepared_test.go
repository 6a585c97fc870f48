package prepared_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/twofold-go/twofold/examples/digest/store/prepared"
)

// open returns a pool of so many connections to a database with one table.
func open(t testing.TB, conns int) *prepared.Pool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(conns)
	p := prepared.New(db)
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE t (n INTEGER)`); err != nil {
		t.Fatal(err)
	}
	return p
}

func sum(ctx context.Context, p interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (n int, err error) {
	err = p.QueryRowContext(ctx, `SELECT coalesce(sum(n), 0) FROM t WHERE n > ?`, 0).Scan(&n)
	return n, err
}

// A pool of one connection must not wait for itself, in a transaction or out of it.
func TestOneConnection(t *testing.T) {
	p := open(t, 1)
	for i := range 4 { // unprepared, prepared, and from then on
		err := p.Do(t.Context(), func(tx *prepared.Tx) error {
			if _, err := tx.ExecContext(t.Context(), `INSERT INTO t VALUES (?)`, 1); err != nil {
				return err
			}
			n, err := sum(t.Context(), tx)
			if n != 2*i+1 {
				t.Errorf("within transaction %d there are %d, want %d", i, n, 2*i+1)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.ExecContext(t.Context(), `INSERT INTO t VALUES (?)`, 1); err != nil {
			t.Fatal(err)
		}
		if n, err := sum(t.Context(), p); err != nil || n != 2*i+2 {
			t.Errorf("after transaction %d there are %d, %v; want %d", i, n, err, 2*i+2)
		}
	}
}

func TestFailedTransaction(t *testing.T) {
	p, failure := open(t, 1), errors.New("no")
	for range 3 {
		err := p.Do(t.Context(), func(tx *prepared.Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO t VALUES (?)`, 1)
			return errors.Join(err, failure)
		})
		if !errors.Is(err, failure) {
			t.Errorf("Do = %v, want %v", err, failure)
		}
	}
	if n, err := sum(t.Context(), p); err != nil || n != 0 {
		t.Errorf("there are %d, %v; want none", n, err)
	}
}

// What does not prepare fails as it would without, each time.
func TestBadStatement(t *testing.T) {
	p := open(t, 2)
	for range 3 {
		if _, err := p.ExecContext(t.Context(), `NO SUCH STATEMENT`); err == nil {
			t.Error("nonsense was run")
		}
		var n int
		if err := p.QueryRowContext(t.Context(), `SELECT n FROM nowhere`).Scan(&n); err == nil {
			t.Error("a table that is not there was read")
		}
	}
}

func TestTogether(t *testing.T) {
	p := open(t, 3)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if _, err := p.ExecContext(t.Context(), `INSERT INTO t VALUES (?)`, 1); err != nil {
					t.Error(err)
				}
				if _, err := sum(t.Context(), p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n, err := sum(t.Context(), p); err != nil || n != 80 {
		t.Errorf("there are %d, %v; want 80", n, err)
	}
}

func BenchmarkQuery(b *testing.B) {
	p := open(b, 1)
	for name, run := range map[string]func() (int, error){
		"unprepared": func() (int, error) { return sum(b.Context(), p.DB()) },
		"prepared":   func() (int, error) { return sum(b.Context(), p) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
