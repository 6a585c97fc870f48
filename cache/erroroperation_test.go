package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A remembered error names the operation "get" in every process, whichever call caused the load.
// Any other error names the operation of the call that gets it.
func TestRememberedErrorsNameGet(t *testing.T) {
	const text = "default:things:1001"
	for name, first := range map[string]func(ctx context.Context, c things) error{
		"Get":     func(ctx context.Context, c things) error { _, err := c.Get(ctx, 1001); return err },
		"GetMany": func(ctx context.Context, c things) error { _, err := c.GetMany(ctx, []int{1001}); return err },
		"Refresh": func(ctx context.Context, c things) error { return c.Refresh(ctx, 1001) },
	} {
		for what, source := range map[string]error{"absence": cache.ErrNotFound, "failure": errSource} {
			bubble(t, name+", "+what, func(t *testing.T) {
				src := &source2{err: source}
				cfg := thingConfig{Load: src.load, LoadMany: src.loadMany, Policy: patch{ErrorTTL: new(5 * time.Second)}}
				_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, cfg)
				_ = first(t.Context(), cs[0])
				for _, c := range cs {
					for range 2 { // in the other process: from the remote tier, then from the local one
						_, err := c.Get(t.Context(), 1001)
						wantError(t, err, "get", text, nil)
						if _, remembered := errors.AsType[*cache.RememberedError](err); !remembered && !errors.Is(err, cache.ErrNotFound) {
							t.Errorf("%v is not a remembered error", err)
						}
					}
					_, err := c.GetMany(t.Context(), []int{1001})
					if be, ok := errors.AsType[*cache.BatchError[int]](err); ok {
						wantError(t, be.Errs[1001], "get", text, nil)
					} else if err != nil {
						t.Errorf("GetMany: %v (%T), want a *BatchError", err, err)
					}
				}
			})
		}
	}
}

// source2 is a source that always fails with err.
type source2 struct{ err error }

func (s *source2) load(ctx context.Context, _ int) (string, error) {
	return "", errors.Join(nap(ctx, time.Second), s.err)
}

func (s *source2) loadMany(ctx context.Context, _ []int) (map[int]string, error) {
	return nil, errors.Join(nap(ctx, time.Second), s.err)
}

// Callers of several methods share one load that fails. Each gets an error that names its own
// operation, whichever caller leads.
func TestErrorsNameTheirCallers(t *testing.T) {
	const text = cell1
	calls := []struct {
		op   string
		call func(ctx context.Context, c things) error
	}{
		{"get", func(ctx context.Context, c things) error { _, err := c.Get(ctx, 1); return err }},
		{"get many", func(ctx context.Context, c things) error {
			_, err := c.GetMany(ctx, []int{1})
			if be, ok := errors.AsType[*cache.BatchError[int]](err); ok {
				return be.Errs[1]
			}
			return err
		}},
		{"get", func(ctx context.Context, c things) error { _, err := c.Fetch(ctx, 1, nil); return err }},
		{"refresh", func(ctx context.Context, c things) error { return c.Refresh(ctx, 1) }},
	}
	for leads := range calls {
		for what, source := range map[string]error{"absence": cache.ErrNotFound, "failure": errSource} {
			bubble(t, fmt.Sprintf("%d, %s leads, %s", leads, calls[leads].op, what), func(t *testing.T) {
				src := &source2{err: source}
				c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.load, LoadMany: src.loadMany})
				done := make(chan struct{})
				go func() {
					defer close(done)
					err := calls[leads].call(t.Context(), c)
					if source == errSource || err != nil { //nolint:errorlint // which of the two it is
						wantError(t, err, calls[leads].op, text, source)
					}
				}()
				synctest.Wait() // it leads the flight now
				crowd(len(calls), func(i int) {
					err := calls[i].call(t.Context(), c)
					if err == nil && calls[i].op == "get many" && source == cache.ErrNotFound { //nolint:errorlint // which of the two it is
						return // for GetMany an absence is no error
					}
					wantError(t, err, calls[i].op, text, source)
				})
				<-done
			})
		}
	}
}
