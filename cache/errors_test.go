package cache_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// codedError has a code that other processes may see.
type codedError struct{ code, text string }

func (e codedError) Error() string     { return e.text }
func (e codedError) CacheCode() string { return e.code }

// A failed load is remembered if the policy says so. The process that loaded has the error, the others
// have its code.
func TestErrorTTL(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code string
	}{
		{codedError{"quota", "account 4711 has no quota"}, "quota"},
		{errSource, "error"},
		{codedError{strings.Repeat("x", 65), "text"}, "error"}, // no code
		{codedError{"a\nb", "text"}, "error"},
		{codedError{"\xff", "text"}, "error"},
		{codedError{"", "text"}, "error"},
	} {
		play(t, scene{name: fmt.Sprintf("%+q", tt.err), on: paired, err: tt.err, cfg: thingConfig{Policy: patch{ErrorTTL: new(5 * time.Second)}},
			steps: strings.ReplaceAll(`
				source fails; a gets error; a gets remembered code=CODE; b gets remembered code=CODE bare; b gets remembered code=CODE bare
				loads 1; wait 5s; source well; b gets 1.2 load`, "CODE", tt.code)})
	}
}

// A code that no process writes is not shown. Its cell is unreadable.
func TestForgedErrorCode(t *testing.T) {
	for name, code := range map[string]string{
		"long": strings.Repeat("x", 65), "very long": strings.Repeat("x", 1<<20), "a line break": "a\nERROR b", "not UTF-8": "\xff",
	} {
		play(t, scene{name: name, on: paired, cfg: thingConfig{Policy: patch{ErrorTTL: new(time.Minute)}}, harm: rewrite(func(c *tier.Cell) {
			if c.Flags&tier.FlagNegative == 0 {
				t.Errorf("the cell is %+v; want a remembered error", c)
			}
			c.Payload = []byte(code)
		}), steps: "source fails; a gets failed; cell damaged; source well; b gets 1.2 load; b counts Cells.Corrupt=1"})
	}
}

// The zero value is a value, in both tiers and in every call, also if it is nil.
func TestZeroValueIsAValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads, mem := 0, tiertest.NewMemory()
		cfg := cache.Config[int, *int]{Load: func(context.Context, int) (*int, error) { loads++; return nil, nil }}
		c, d := with(t, open(t, cache.TiersConfig{Remote: mem}), cfg), with(t, open(t, cache.TiersConfig{Remote: mem}), cfg)
		for range 2 {
			equal(t, get(t, c, 1), nil, "Get")
			r, err := d.Fetch(t.Context(), 1, nil)
			if r.Value != nil || err != nil || r.Negative {
				t.Errorf("in the other process: %+v, %v", r, err)
			}
		}
		v, found := c.Peek(t.Context(), 1)
		m, err := c.GetMany(t.Context(), []int{1})
		if _, ok := m[1]; v != nil || !found || !ok || err != nil {
			t.Errorf("Peek = %v, %v, GetMany = %v, %v, want nil from both", v, found, m, err)
		}
		equal(t, loads, 1, "loads")
	})
}

// responseError refers to more than its text.
type responseError struct{ body *[1 << 20]byte }

func (e *responseError) Error() string { return "the answer was 500" }

// Of a remembered error the cache keeps the code, the text, and a Coder. It does not keep other
// objects alive that the error refers to.
func TestRememberedErrorKeepsTextAlone(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{}), thingConfig{Policy: patch{ErrorTTL: new(time.Hour)}, Load: func(context.Context, int) (string, error) {
		return "", &responseError{new([1 << 20]byte)}
	}})
	_, err := c.Get(t.Context(), 1)
	if _, ok := errors.AsType[*responseError](err); !ok {
		t.Errorf("Get = %v, want the loader's error", err)
	}
	_, err = c.Get(t.Context(), 1)
	if _, kept := errors.AsType[*responseError](err); kept {
		t.Error("the remembered error keeps alive what the loader's error refers to")
	}
	re, ok := errors.AsType[*cache.RememberedError](err)
	if !ok || re.Code != "error" || !strings.Contains(err.Error(), "the answer was 500") {
		t.Errorf("second Get = %v, want the code and the text", err)
	}
}

func TestAbsenceIsRemembered(t *testing.T) {
	for name, err := range map[string]error{
		"plain": cache.ErrNotFound, "wrapped": fmt.Errorf("no such row: %w", cache.ErrNotFound),
		"joined": errors.Join(cache.ErrNotFound, fmt.Errorf("no such row: %w", cache.ErrNotFound)),
	} {
		play(t, scene{name: name, on: paired, err: err, steps: `
			source fails; a gets absent load; a gets absent local; b gets absent remote; b gets absent local; loads 1
			a counts Reads.Negatives=2; b counts Reads.Negatives=2; a peeks nothing; source well; wait 3s; a gets 1.2 load`})
	}
}

// The TTL that a loader sets also says how long an absence is remembered, in both tiers and in batches.
func TestTTLOfAnAbsence(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, time.Minute} { // NegativeTTL lies between
		for call, many := range map[string]bool{"gets": false, "many": true} {
			steps := fmt.Sprintf(`says ttl=%v; source absent; a CALL absent key=1000; wait %v
				a CALL absent key=1000; b CALL absent key=1000; loads 1
				wait 20ms; a CALL absent key=1000; b CALL absent key=1000; loads 2`, ttl, ttl-10*time.Millisecond)
			play(t, scene{name: fmt.Sprint(call, ttl), on: paired, many: many, cfg: thingConfig{Policy: patch{NegativeTTL: new(10 * time.Second)}},
				steps: strings.ReplaceAll(steps, "CALL", call)})
		}
	}
}

// A load that failed in part is never an absence, whatever the other part says.
func TestFailureBesideAnAbsence(t *testing.T) {
	for name, err := range map[string]error{
		"joined":       errors.Join(errSource, cache.ErrNotFound),
		"wrapped":      fmt.Errorf("user 1: %w", errors.Join(cache.ErrNotFound, errSource)),
		"not modified": errors.Join(errSource, cache.ErrNotModified),
		"declined":     errors.Join(errSource, cache.ErrDeclined),
	} {
		play(t, scene{name: name, on: paired, err: err, cfg: thingConfig{Policy: failSafe}, steps: `
			a gets 1.1; wait 1m; source fails; a gets 1.1 local stale; b gets failed key=2; source well; a gets 2.2 load key=2`})
	}
}

// A remembered error replaces no good value of another process. Who joins a flight gets what its
// own options allow.
func TestRememberedErrorOfAnotherProcess(t *testing.T) {
	p := failSafe
	p.ErrorTTL, p.Stale = new(5*time.Second), new(10*time.Second)
	const failedElsewhere = "a gets 1.1; wait 1m; remote empties; source fails; b gets failed; loads 2;"
	for disturb, reads := range map[string]string{"": "5", "a peeks nothing": "6", "a gets remembered Fresh": "6"} {
		play(t, scene{name: disturb, on: paired, cfg: thingConfig{Policy: p}, steps: failedElsewhere + disturb +
			strings.Repeat("; a gets 1.1 local stale; wait 1s", 4) + "; loads 2; a counts Reads=" + reads + "; a gets remembered Fresh"})
	}
	p.Stale, p.Throttle = nil, new(500*time.Millisecond)
	play(t, scene{name: "followers", on: paired, cfg: thingConfig{Policy: p}, steps: failedElsewhere + `
		wait 2s; a's remote slow=10ms; go a gets remembered Fresh; a gets 1.1 local stale; wait 1s; source well
		go a gets any; a gets 1.3 load MaxAge=1s`}) // the error is older
}

// What is not worth storing, too large, or not to be stored, is returned and not stored.
func TestAdmission(t *testing.T) {
	quick, small := thingConfig{Policy: patch{MinLoad: new(10 * time.Millisecond)}}, thingConfig{Policy: patch{MaxValueBytes: new(2)}}
	play(
		t,
		scene{name: "MinLoad not reached", cfg: quick, steps: "source takes=9ms; a gets 1.1; a gets 1.2; a counts Fills.NotAdmitted=2"},
		scene{name: "MinLoad reached", cfg: quick, steps: "source takes=10ms; a gets 1.1; a gets 1.1"},
		scene{name: "MaxValueBytes", on: "alone paired", cfg: small, steps: "a gets 1.1; a gets 1.2; cells 0; a counts Fills.TooLarge=2"},
		scene{name: "NoStore", on: "alone paired", steps: "says nostore; a gets 1.1; a gets 1.2; cells 0; a counts Fills.NotWanted=2"},
		scene{name: "a TTL of nothing", steps: "says ttl=0s; a gets 1.1; a gets 1.2; a counts Fills.NotWanted=2"},
		scene{name: "stored", on: paired, steps: "a gets 1.1; a gets 1.1; cells 1"},
		scene{name: "for a time", steps: `
			says ttl=5s stale=20s; a gets 1.1; wait 4s; a gets 1.1 local; wait 1s; a gets 1.1 local stale; loads 2; wait 1h; a gets 1.3 load`},
	)
}

// A Fill has no effect after its load, and outside a loader it is nil.
func TestFillHandle(t *testing.T) {
	var late *cache.Fill
	c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
		late = cache.Filling(ctx)
		return "v", nil
	}})
	get(t, c, 1)
	late.NoStore()
	wantFetch(t, c, 1, fetched{"v", cache.Local, false, nil})
	f := cache.Filling(t.Context())
	if f != nil {
		t.Error("Filling outside a loader is not nil")
	}
	f.SetLifetime(cache.Lifetime{TTL: new(time.Second)})
	f.NoStore()
	cache.Depend(t.Context(), "tag")
}

// The codes are a promise. They must not change.
func TestCodes(t *testing.T) {
	pending := &invalidate.PendingError{Pending: 1, Err: context.DeadlineExceeded}
	for want, errs := range map[string][]error{
		"not_found":       {cache.ErrNotFound},
		"miss":            {cache.ErrMiss},
		"not_modified":    {cache.ErrNotModified},
		"declined":        {cache.ErrDeclined},
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
		for code, errs := range map[string][]error{
			"codec":           {c.Set(ctx, 1, math.NaN())},
			"value_too_large": {texts.Set(ctx, "k", strings.Repeat("v", 100))},
			"key":             {texts.Set(ctx, "", "v"), texts.Tenant("a:b").Set(ctx, "k", "v")},
			"usage":           {c.Set(ctx, 1, 1, cache.TTL(-1)), zero.Set(ctx, 1, 1), new(cache.Tiers).Invalidate(ctx, c.All())},
			"scope":           {tiers.Invalidate(ctx, c.Tag(""))},
			"miss":            {errOf(c.Get(ctx, 1)), errOf(c.GetOrLoad(ctx, 1, nil)), errOf(c.Fetch(ctx, 1, nil))},
		} {
			for _, err := range errs {
				wantCode(t, err, code)
			}
		}
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
		{cache.ErrNotFound, true},
		{fmt.Errorf("row: %w", errRow), true},
		{redis.Nil, true},
		{fmt.Errorf("%s; %w", errSource.Error(), fs.ErrNotExist), true}, // as gorm joins texts
		{errors.Join(fs.ErrNotExist, errRemote), true},                  // both mean absence
		{fmt.Errorf("%w: %w", cache.ErrNotFound, errRow), true},
		{errors.Join(errSource, fs.ErrNotExist), false},
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
	cfg := cache.For("n", none)
	misuse{newErr(open(t, cache.TiersConfig{}), cfg), nil, []string{"field Load"}}.check(t)
	cfg.LoadMany = (&source{}).loadMany
	with(t, open(t, cache.TiersConfig{}), cfg)
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
