package sqltiertest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twofold-go/twofold/cache"
)

// The error of pgx for an absent row wraps that of database/sql. Both are absences, under either
// name, and are remembered.
func TestAbsentRows(t *testing.T) {
	for _, listed := range []error{pgx.ErrNoRows, sql.ErrNoRows} {
		loads := 0
		load := func(context.Context, int) (string, error) {
			loads++
			return "", fmt.Errorf("user: %w", pgx.ErrNoRows)
		}
		tiers, err := cache.Open(cache.TiersConfig{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := cache.New(tiers, cache.For("users", cache.NotFoundIs(load, listed)))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := c.Get(t.Context(), 1); !errors.Is(err, cache.ErrNotFound) || !errors.Is(err, pgx.ErrNoRows) {
				t.Errorf("NotFoundIs(%q): Get = %v, want ErrNotFound and the error of pgx", listed, err)
			}
		}
		if loads != 1 {
			t.Errorf("NotFoundIs(%q): %d loads, want 1", listed, loads)
		}
		if err := tiers.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
