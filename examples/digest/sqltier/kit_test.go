package sqltier_test

import (
	"context"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/sqltier"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/tier"
)

// open opens the database at path as one more process does.
func open(t testing.TB, path string) *store.Store {
	t.Helper()
	return storetest.Open(t, path, nil)
}

func database(t testing.TB) string {
	t.Helper()
	return storetest.Path(t)
}

// on returns a tier on an open database.
func on(s *store.Store, tables ...sqltier.Table) *sqltier.Tier {
	writer, readers := s.Pools()
	return sqltier.New(sqltier.Config{Writer: writer, Readers: readers, Tables: tables})
}

// alternating claims as one process and does everything else as another.
type alternating struct{ one, other tier.Remote }

func (a alternating) Get(ctx context.Context, key string) ([]byte, error) {
	return a.other.Get(ctx, key)
}

func (a alternating) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	return a.one.Claim(ctx, key, c)
}

func (a alternating) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	return a.other.Fill(ctx, key, f)
}

func (a alternating) Unlink(ctx context.Context, keys ...string) error {
	return a.other.Unlink(ctx, keys...)
}
