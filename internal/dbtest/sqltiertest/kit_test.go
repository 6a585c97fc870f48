package sqltiertest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// installed returns a tier whose table exists.
func installed(t testing.TB, db *sql.DB, cfg sqltier.Config) *sqltier.Tier {
	t.Helper()
	r := sqltier.New(db, cfg)
	if err := r.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

// place is a database for one test.
type place struct {
	db, readers *sql.DB
	dialect     sqltier.Dialect
}

func (p place) tier(t testing.TB, cfg sqltier.Config) *sqltier.Tier {
	t.Helper()
	cfg.Dialect, cfg.Readers = p.dialect, p.readers
	return installed(t, p.db, cfg)
}

// everywhere runs a test on each kind of database.
func everywhere(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		f := dbtest.SQLite(t)
		test(t, place{f.Writer, f.Reader, sqltier.SQLite})
	})
	t.Run("postgres", func(t *testing.T) {
		_, db := postgres(t).Database(t)
		test(t, place{db: db, dialect: sqltier.Postgres})
	})
}

// cell returns an encoded cell of slightly more than size bytes.
func cell(t testing.TB, size int) []byte {
	t.Helper()
	c := tier.Cell{Nonce: tier.NewNonce(), Codec: "raw", Payload: make([]byte, size)}
	frame, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func claim(t testing.TB, r tier.Remote, key string, lease time.Duration) tier.Nonce {
	t.Helper()
	n := tier.NewNonce()
	if got, err := tiercall.Claim(t.Context(), r, key, tier.Claim{Nonce: n, Lease: lease}); err != nil || !got.Granted {
		t.Fatalf("Claim = %+v, %v; want it granted", got, err)
	}
	return n
}

func store(t testing.TB, r tier.Remote, key string, frame []byte, ttl time.Duration) {
	t.Helper()
	n := claim(t, r, key, time.Minute)
	if ok, err := tiercall.Fill(t.Context(), r, key, tier.Fill{Nonce: n, Cell: frame, TTL: ttl}); err != nil || !ok {
		t.Fatalf("Fill = %v, %v; want true", ok, err)
	}
}

// has reports whether a frame exists under key.
func has(t testing.TB, r tier.Remote, key string) bool {
	t.Helper()
	frame, err := tiercall.Get(t.Context(), r, key)
	if err != nil {
		t.Fatalf("Get = %v", err)
	}
	return frame != nil
}

// rowsOf counts the rows of the default table, including expired ones.
func rowsOf(t testing.TB, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM twofold_cells`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// calls returns the error of each method, by its name.
func calls(ctx context.Context, r *sqltier.Tier, key string) map[string]error {
	n := tier.NewNonce()
	keys := []string{key, key + "2"}
	c, f := tier.Claim{Nonce: n, Lease: time.Second}, tier.Fill{Nonce: n, Cell: tier.LeaseCell(n), TTL: time.Second}
	errs := map[string]error{"Ping": r.Ping(ctx), "Remove": tiercall.Remove(ctx, r, key), "Remove of two": tiercall.Remove(ctx, r, keys...)}
	_, errs["Get"] = tiercall.Get(ctx, r, key)
	_, errs["Claim"] = tiercall.Claim(ctx, r, key, c)
	_, errs["Fill"] = tiercall.Fill(ctx, r, key, f)
	_, errs["GetMany"] = tiercall.GetMany(ctx, r, keys)
	_, errs["ClaimMany"] = tiercall.ClaimMany(ctx, r, keys, []tier.Claim{c, c})
	_, errs["FillMany"] = tiercall.FillMany(ctx, r, keys, []tier.Fill{f, f})
	_, errs["Sweep"] = r.Sweep(ctx)
	return errs
}

// eventually polls, because a sweep and a database's clock take time.
func eventually(t testing.TB, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !check(); {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
		<-time.After(time.Millisecond)
	}
}
