package sqllogtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// cells simulates the remote tier of a process.
type cells struct {
	removed []string
	during  func(keys []string) error // nil: succeed
}

func (c *cells) remove(_ context.Context, keys []string) error {
	c.removed = append(c.removed, keys...)
	if c.during == nil {
		return nil
	}
	return c.during(keys)
}

// The cells of a key are removed before its record is written and before a row leaves the outbox.
func TestCellsFirst(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		c := &cells{}
		l := r.open(sqllog.Config{})
		l.Open(invalidate.Hooks{Tier: "redis", Remove: c.remove})
		p := &process{t: t, log: l}
		p.sync()
		k := key42(t)
		records := r.count(t, "SELECT count(*) FROM twofold_log")
		c.during = func([]string) error {
			if n := r.count(t, "SELECT count(*) FROM twofold_log"); n != records {
				t.Errorf("%d records while cells are removed, want %d as before", n, records)
			}
			if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 2 {
				t.Errorf("%d rows wait while cells are removed, want 2", n)
			}
			return nil
		}
		commit(t, r, l, k, org(1))
		commit(t, r, l, k)
		p.want(k, org(1))
		if want := []string{k.Text(), k.Text()}; !slices.Equal(c.removed, want) {
			t.Errorf("removed %q, want %q", c.removed, want)
		}
	})
}

// If cells cannot be removed, a fence in the scope sequence covers them: every process that reads
// cells knows that sequence, or discards all cells.
func TestCellsOutOfReach(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		k := key42(t)
		tenant, rest, _ := strings.Cut(k.Text(), ":")
		cover := invalidate.Fence{Scope: invalidate.Prefix(tenant, rest)}
		for name, fault := range map[string]error{"all": errors.New("down"), "one": &partial{[]string{k.Text()}}, "none named": &partial{}} {
			c := &cells{during: func([]string) error { return fault }}
			l := r.fresh(sqllog.Config{})()
			l.Open(invalidate.Hooks{Tier: "redis", Remove: c.remove})
			p := &process{t: t, log: l}
			p.sync()
			commit(t, r, l, k)
			keys, scopes := p.sync()
			if len(keys) != 1 || !slices.Equal(keys[0].Fences, []invalidate.Fence{{Scope: k}}) {
				t.Errorf("%s: keys = %+v, want the key", name, keys)
			}
			if len(scopes) != 1 || !slices.Equal(scopes[0].Fences, []invalidate.Fence{cover}) {
				t.Errorf("%s: scopes = %+v, want %+v", name, scopes, cover)
			}
			if s := l.Stats(); s.Left != 1 {
				t.Errorf("%s: Stats = %+v, want one cell left", name, s)
			}
		}
	})
}

type partial struct{ keys []string }

func (e *partial) Error() string        { return "some cells are left" }
func (e *partial) FailedKeys() []string { return e.keys }

// A hanging remote tier costs only a part of the bound.
func TestCellsHang(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	l := r.open(sqllog.Config{Bound: 400 * time.Millisecond})
	l.Open(invalidate.Hooks{Tier: "redis", Remove: func(ctx context.Context, _ []string) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	p := &process{t: t, log: l}
	p.sync()
	commit(t, r, l, key42(t))
	begun := time.Now()
	p.sync()
	if took := time.Since(begun); took < 50*time.Millisecond || took > 5*time.Second {
		t.Errorf("Sync took %v, want an eighth of the bound of 400ms", took)
	}
}

// Cells may be in the same database, behind the same pool of one connection. Their removal must not
// wait for the connection of the Sync that removes them.
func TestCellsInOnePool(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.db.SetMaxOpenConns(1)
		r.readers = nil
		c := &cells{during: func([]string) error {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := r.db.ExecContext(ctx, "UPDATE twofold_meta SET bound = bound WHERE ns = 'none'")
			return err
		}}
		l := r.open(sqllog.Config{})
		l.Open(invalidate.Hooks{Tier: "sql", Remove: c.remove})
		p := &process{t: t, log: l}
		p.sync()
		commit(t, r, l, key42(t))
		p.sync()
		if s := l.Stats(); s.Left != 0 || s.Numbered != 1 {
			t.Errorf("Stats = %+v, want the cell removed", s)
		}
	})
}

// A Sync that ends between removing cells and numbering leaves the row to the next Sync.
func TestCutOffBeforeNumbering(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &cells{during: func([]string) error { cancel(); return nil }}
		l := r.open(sqllog.Config{})
		l.Open(invalidate.Hooks{Tier: "redis", Remove: c.remove})
		p := &process{t: t, log: l}
		p.sync()
		commit(t, r, l, key42(t))
		if _, err := l.Sync(ctx, p.at, invalidate.Append{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("Sync that is cut off = %v, want Canceled", err)
		}
		c.during = nil
		p.want(key42(t))
		if len(c.removed) != 2 {
			t.Errorf("the cell was removed %d times, want twice", len(c.removed))
		}
	})
}

// A process with another remote tier than the fleet's would number rows without removing their
// cells.
func TestAnotherRemoteTier(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		one, other := r.open(sqllog.Config{}), r.open(sqllog.Config{})
		one.Open(invalidate.Hooks{Tier: "redis", Remove: (&cells{}).remove})
		other.Open(invalidate.Hooks{})
		p := &process{t: t, log: one}
		p.sync()
		commit(t, r, one, org(1))
		for range 2 {
			if _, err := other.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{}); !errors.Is(err, sqllog.ErrCells) {
				t.Errorf("Sync with another remote tier = %v, want ErrCells", err)
			}
		}
		if _, err := r.open(sqllog.Config{}).Sync(t.Context(), p.at, invalidate.Append{}); !errors.Is(err, sqllog.ErrCells) {
			t.Errorf("Sync of a process that removes no cells = %v, want ErrCells", err)
		}
		if _, err := other.Tail(t.Context(), p.at); err != nil {
			t.Errorf("Tail with another remote tier = %v", err)
		}
		if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 1 {
			t.Errorf("%d rows wait, want the one that only the fleet may number", n)
		}
		if err := other.NewEpoch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{}); err != nil {
			t.Errorf("Sync after NewEpoch = %v", err)
		}
		if _, err := one.Sync(t.Context(), p.at, invalidate.Append{}); !errors.Is(err, sqllog.ErrCells) {
			t.Errorf("Sync of the old fleet = %v, want ErrCells", err)
		}
	})
}
