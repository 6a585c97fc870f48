package logtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// cells simulates the remote tier of the handles of one log, and the source of its values. A
// commit of a key makes its value new. A process claims a cell, loads the value, then fills the
// cell. Removing the cell breaks the claim, so the fill is refused.
type cells struct {
	before, after fault.Setting[gap]   // called by remove before it removes, and afterwards
	fail          fault.Setting[error] // what remove returns

	mu      sync.Mutex      // protects all below
	source  map[string]bool // by key: committed, so its value is new
	claims  map[string]bool // by key: the loaded value
	filled  map[string]bool // by key: the value in its cell
	removed map[string]bool // by key: removed after the commit
}

// gap is called in the middle of a Sync, with the keys whose cells it removes.
type gap = func(keys []string)

func newCells() *cells {
	c := &cells{
		source: map[string]bool{}, claims: map[string]bool{}, filled: map[string]bool{},
		removed: map[string]bool{},
	}
	c.before.Set(func([]string) {})
	c.after.Set(func([]string) {})
	return c
}

// remove is the hook that the handles get.
func (c *cells) remove(ctx context.Context, keys []string) error {
	c.before.Get()(keys)
	if err := cmp.Or(ctx.Err(), c.fail.Get()); err != nil {
		return err
	}
	c.take(keys)
	c.after.Get()(keys)
	return ctx.Err()
}

func (c *cells) take(keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		delete(c.claims, k)
		delete(c.filled, k)
		c.removed[k] = c.source[k]
	}
}

// once makes the next call of remove run do, at the given gap. The returned function reports
// whether do was called.
func once(at *fault.Setting[gap], do func()) (ran func() bool) {
	var done atomic.Bool
	at.Set(func([]string) {
		if done.CompareAndSwap(false, true) {
			do()
		}
	})
	return done.Load
}

// committing notes that the scopes may be committed from now on.
func (c *cells) committing(scopes []invalidate.Scope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range scopes {
		if s.Kind() == invalidate.KindKey {
			c.source[s.Text()] = true
		}
	}
}

// claim claims a cell and loads its value.
func (c *cells) claim(k string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims[k] = c.source[k]
}

// fill stores the loaded value, if the claim is still valid.
func (c *cells) fill(k string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.claims[k]; ok {
		c.filled[k] = v
	}
	delete(c.claims, k)
}

// old reports whether a cell has the value from before the commit.
func (c *cells) old(k string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.filled[k]
	return ok && !v
}

// check checks every key of which the reader has a record. Its cell must have been removed
// before, or a record of the scopes must cover it.
func (c *cells) check(r *reader) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	named := map[string]bool{}
	for _, rec := range r.keys {
		for _, f := range rec.Fences {
			named[f.Scope.Text()] = true
		}
	}
	for k := range c.source {
		if named[k] && !c.removed[k] && !r.covers(k) {
			return errors.New("a record names a key whose cell was not removed after the commit")
		}
	}
	return nil
}

// covers reports whether the records of the scopes cover the cell of a key.
func (r *reader) covers(k string) bool {
	for _, rec := range r.scopes {
		for _, f := range rec.Fences {
			whole := f.Scope.Kind() == invalidate.KindPrefix && strings.HasPrefix(k, f.Scope.Text())
			if !f.Soft && (whole || f.Scope.Kind() == invalidate.KindAll) {
				return true
			}
		}
	}
	return false
}

// keyScope returns a key that is unique for n.
func (t *txTest) keyScope(n int) invalidate.Scope {
	t.Helper()
	k, err := key.Space{Tenant: "t", Namespace: "n"}.Key(strconv.Itoa(n))
	t.must(err)
	return invalidate.Key(k)
}

func tagScope(n int) invalidate.Scope { return invalidate.Tag("t", fmt.Sprintf("tag:%d", n)) }
