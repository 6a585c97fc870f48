package cache_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The codes are a promise. They must not change.
func TestCodes(t *testing.T) {
	pending := &invalidate.PendingError{Pending: 1, Err: context.DeadlineExceeded}
	for want, errs := range map[string][]error{
		"not_found":       {cache.ErrNotFound},
		"miss":            {cache.ErrMiss},
		"not_modified":    {cache.ErrNotModified},
		"overloaded":      {cache.ErrOverloaded},
		"closed":          {cache.ErrClosed},
		"load_timeout":    {cache.ErrLoadTimeout},
		"unavailable":     {cache.ErrUnavailable, pending},
		"recursive":       {cache.ErrRecursive},
		"goexit":          {cache.ErrGoexit},
		"value_too_large": {cache.ErrTooLarge},
		"key":             {key.ErrEmpty, key.ErrTooLong, key.ErrSeparator, key.ErrCharacter, key.ErrEscape, key.ErrType, key.ErrNumber, key.ErrUTF8},
		"scope":           {invalidate.Scope{}.Validate()},
		"canceled":        {context.Canceled, context.DeadlineExceeded},
		"load_failed":     {errSource, &cache.RememberedError{Code: "error"}},
	} {
		for _, err := range errs {
			batch := &cache.BatchError[int]{Errs: map[int]error{1: &cache.Error{Err: err}, 2: &cache.Error{Err: err}}}
			for _, err := range []error{err, fmt.Errorf("why: %w", err), errors.Join(errSource, err), batch, &cache.Error{Op: "get", Err: err}} {
				equal(t, (&cache.Error{Err: err}).Code(), want, "%v (%T)", err, err)
			}
		}
	}
	equal(t, (&cache.Error{Err: errors.Join(cache.ErrNotFound, cache.ErrUnavailable)}).Code(), "unavailable", "ErrNotFound joined with ErrUnavailable: code")
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*cache.Error](err); !ok || e.Code() != code {
		t.Errorf("%v: want an *Error of code %q", err, code)
	}
}

func TestCodesOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote, ctx := faulty(), t.Context()
		tiers := open(t, cache.TiersConfig{Remote: remote})
		c := with(t, tiers, cache.Config[int, float64]{Policy: patch{MaxValueBytes: new(10)}})
		texts := with(t, tiers, cache.Config[string, string]{Namespace: "texts", Policy: patch{MaxValueBytes: new(10)}})
		var zero cache.Cache[int, float64]
		wantCode(t, c.Set(ctx, 1, math.NaN()), "codec")
		wantCode(t, texts.Set(ctx, "k", strings.Repeat("v", 100)), "value_too_large")
		wantCode(t, texts.Set(ctx, "", "v"), "key")
		wantCode(t, texts.Tenant("a:b").Set(ctx, "k", "v"), "key")
		wantCode(t, c.Set(ctx, 1, 1, cache.TTL(-1)), "usage")
		wantCode(t, zero.Set(ctx, 1, 1), "usage")
		wantCode(t, new(cache.Tiers).Invalidate(ctx, c.All()), "usage")
		wantCode(t, tiers.Invalidate(ctx, c.Tag("")), "scope")
		_, err := c.GetOrLoad(ctx, 1, nil)
		wantCode(t, err, "usage")
		_, err = c.Get(ctx, 1)
		wantCode(t, err, "miss")
		wantError(t, new(cache.Tiers).Ready(ctx), "ready", "-", nil)
		must(t, c.Set(ctx, 2, 2))
		remote.Fail(errRemote)
		for range 8 { // the breaker opens after the fifth
			for call, err := range map[string]error{
				"Set": c.Set(ctx, 2, 3), "Delete": c.Delete(ctx, 2), "Expire": c.Expire(ctx, 2), "DeleteMany": c.DeleteMany(ctx, []int{1, 2}),
				"SetMany": c.SetMany(ctx, map[int]float64{1: 1, 2: 2}), "Invalidate": tiers.Invalidate(ctx, c.Key(1)),
			} {
				if !errors.Is(err, cache.ErrUnavailable) {
					t.Errorf("%s: %v, want ErrUnavailable", call, err)
				}
				wantCode(t, err, "unavailable")
			}
		}
		remote.Heal()
		must(t, tiers.Close(ctx))
		wantCode(t, c.Set(ctx, 1, 1), "closed")
		wantCode(t, c.SetMany(ctx, map[int]float64{1: 1}), "closed")
		wantCode(t, tiers.Invalidate(ctx, c.All()), "closed")
	})
}

// wrapping is an error that wraps another one by a method, as pgx.ErrNoRows wraps sql.ErrNoRows.
type wrapping struct{ error }

func (w *wrapping) Unwrap() error { return w.error }

var errRow error = &wrapping{sql.ErrNoRows}

func TestNotFoundIs(t *testing.T) {
	failure := errSource
	load := cache.NotFoundIs(func(context.Context, int) (string, error) { return "", failure }, fs.ErrNotExist, errRemote, errRow, redis.Nil)
	c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), cache.For("things", load))
	for i, tt := range []struct {
		err    error
		absent bool
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, true},
		{fmt.Errorf("row: %w", errRemote), true},
		{cache.ErrNotFound, true},
		{errRow, true},
		{fmt.Errorf("row: %w", errRow), true},
		{redis.Nil, true},
		{fmt.Errorf("%s; %w", errSource.Error(), fs.ErrNotExist), true}, // as gorm joins texts
		{errors.Join(fs.ErrNotExist, errRemote), true},                  // both mean absence
		{fmt.Errorf("%w: %w", cache.ErrNotFound, errRow), true},
		{errors.Join(errSource, fs.ErrNotExist), false},
		{errors.Join(fs.ErrNotExist, &wrapping{errSource}), false},
		{sql.ErrNoRows, false}, // only what it wraps is listed
		{errSource, false},
	} {
		failure = tt.err
		_, err := c.Get(t.Context(), i)
		if errors.Is(err, cache.ErrNotFound) != tt.absent {
			t.Errorf("%v: %v, want it absent: %v", tt.err, err, tt.absent)
		}
		if !errors.Is(err, fs.ErrNotExist) && errors.Is(tt.err, fs.ErrNotExist) {
			t.Errorf("%v: %v, want an error that wraps the loader's", tt.err, err)
		}
	}
	failure = nil
	succeeds(t, errOf(c.Get(t.Context(), 100)))
	none := cache.NotFoundIs[int, string](nil, fs.ErrNotExist)
	err := newErr(open(t, cache.TiersConfig{}), cache.For("n", none))
	if err == nil || !strings.Contains(err.Error(), "field Load") {
		t.Errorf("New with a nil loader: %v, want an error about the field Load", err)
	}
	cfg := cache.For("n", none)
	cfg.LoadMany = (&source{}).loadMany
	with(t, open(t, cache.TiersConfig{}), cfg)
}

func TestUnknownTenants(t *testing.T) {
	var lines strings.Builder
	tiers := open(t, cache.TiersConfig{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
	c := with(t, tiers, thingConfig{})
	_ = c.Tenant("acme")
	invalidates := func(scopes ...invalidate.Scope) {
		t.Helper()
		must(t, tiers.Invalidate(t.Context(), scopes...))
	}
	invalidates(c.All(), invalidate.Tag("acme", "t"), invalidate.Tenant("default"), invalidate.All(), c.Key(1))
	if n := tiers.Stats().Kinds.UnknownTenants; n != 0 || lines.Len() != 0 {
		t.Errorf("%d invalidations for known tenants are counted as unknown:\n%s", n, lines.String())
	}
	invalidates(invalidate.Tag("org", "7"), invalidate.Prefix("users", "v1:"))
	invalidates(invalidate.Tag("org", "8"))
	if n := tiers.Stats().Kinds.UnknownTenants; n != 3 || strings.Count(lines.String(), "tenant=org") != 1 {
		t.Errorf("%d invalidations are counted, want 3, and one line for org:\n%s", n, lines.String())
	}
	if err := tiers.Expire(t.Context(), invalidate.Tag("guild", "7")); err != nil || !strings.Contains(lines.String(), "tenant=guild") {
		t.Errorf("Expire of an unknown tenant: %v, and the log is\n%s", err, lines.String())
	}
}

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
