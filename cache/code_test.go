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

// Callers of several methods share one load that fails. Each gets an error that names its own
// operation and its key, whichever caller leads. A remembered error names "get" in every process,
// whichever call caused the load. The steps check that.
func TestErrorsNameTheirCallers(t *testing.T) {
	for name, err := range map[string]error{"absence": cache.ErrNotFound, "failure": errSource} {
		for _, leads := range []string{"gets", "many", "refreshes"} {
			for _, many := range []bool{false, true} {
				play(t, scene{name: fmt.Sprintf("%s, %s leads, LoadMany %v", name, leads, many), on: paired, many: many, err: err,
					cfg: thingConfig{Policy: patch{ErrorTTL: new(5 * time.Second)}}, steps: `
					source takes=1s; source fails; go a ` + leads + ` error key=1001; go a gets error key=1001; go a many error key=1001; go a refreshes error key=1001
					wait 2s; a gets error key=1001; a many error key=1001; b gets error key=1001; b many error key=1001; loads <=2`})
			}
		}
	}
}
