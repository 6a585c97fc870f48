package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func TestAbsenceIsRemembered(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"plain", cache.ErrNotFound},
		{"wrapped", fmt.Errorf("no such row: %w", cache.ErrNotFound)},
		{"joined", errors.Join(cache.ErrNotFound, fmt.Errorf("no such row: %w", cache.ErrNotFound))},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src := &source{}
			src.fail(tt.err)
			ts, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Load: src.load})
			wantFetch(t, cs[0], 1, fetched{"", cache.Load, false, cache.ErrNotFound})
			wantFetch(t, cs[0], 1, fetched{"", cache.Local, false, cache.ErrNotFound})
			wantFetch(t, cs[1], 1, fetched{"", cache.Remote, false, cache.ErrNotFound})
			r, err := cs[1].Fetch(t.Context(), 1, nil)
			if !r.Negative {
				t.Error("Negative is not set")
			}
			wantError(t, err, "get", cell1, cache.ErrNotFound)
			if _, ok := cs[0].Peek(t.Context(), 1); ok {
				t.Error("Peek reports a value")
			}
			src.wantLoads(t, 1)
			if a, b := total(ts[0]).Negatives, total(ts[1]).Negatives; a < 2 || b != 2 {
				t.Errorf("Negatives = %d and %d", a, b)
			}
			src.fail(nil)
			advance(3 * time.Second)
			wantFetch(t, cs[0], 1, fetched{"1.2", cache.Load, false, nil})
		})
	}
}

// A load that failed in part is never an absence, whatever the other part says.
func TestFailureBesideAnAbsence(t *testing.T) {
	for name, err := range map[string]error{
		"joined":       errors.Join(errSource, cache.ErrNotFound),
		"wrapped":      fmt.Errorf("user 1: %w", errors.Join(cache.ErrNotFound, errSource)),
		"not modified": errors.Join(errSource, cache.ErrNotModified),
	} {
		bubble(t, name, func(t *testing.T) {
			src := &source{}
			_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Load: src.load, Policy: failSafe})
			get(t, cs[0], 1)
			advance(time.Minute)
			src.fail(err)
			wantFetch(t, cs[0], 1, fetched{"1.1", cache.Local, true, nil}) // in place of the failed load
			_, err := cs[1].Get(t.Context(), 2)
			if errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrNotModified) || !errors.Is(err, errSource) {
				t.Errorf("Get: %v, want only the failure", err)
			}
			src.fail(nil)
			wantFetch(t, cs[0], 2, fetched{"2.2", cache.Load, false, nil}) // no absence of another process
		})
	}
}

// codedError has a code that other processes may see.
type codedError struct{ code, text string }

func (e codedError) Error() string     { return e.text }
func (e codedError) CacheCode() string { return e.code }

func TestErrorTTL(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code string
	}{
		{"with a code", codedError{"quota", "account 4711 has no quota"}, "quota"},
		{"without", errSource, "error"},
		{"with a code that is no code", codedError{strings.Repeat("x", 65), "text"}, "error"},
		{"with a code that is not printable", codedError{"a\nb", "text"}, "error"},
		{"with a code that is not UTF-8", codedError{"\xff", "text"}, "error"},
		{"with an empty code", codedError{"", "text"}, "error"},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src := &source{}
			src.fail(tt.err)
			_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{
				Load: src.load, Policy: patch{ErrorTTL: new(5 * time.Second)},
			})
			_, err := cs[0].Get(t.Context(), 1)
			wantError(t, err, "get", cell1, tt.err)
			_, err = cs[0].Get(t.Context(), 1) // remembered in the process that has the error
			re, ok := errors.AsType[*cache.RememberedError](err)
			if !ok || re.Code != tt.code || !errors.Is(err, tt.err) {
				t.Errorf("second Get: %v, want a remembered error with code %q", err, tt.code)
			}
			_, err = cs[1].Get(t.Context(), 1)
			wantError(t, err, "get", cell1, nil)
			re, ok = errors.AsType[*cache.RememberedError](err)
			if !ok || re.Code != tt.code || re.Err != nil || strings.Contains(err.Error(), tt.err.Error()) {
				t.Errorf("in the other process: %v, want only the code %q", err, tt.code)
			}
			if errors.Is(err, cache.ErrNotFound) {
				t.Error("the error is taken for ErrNotFound")
			}
			src.wantLoads(t, 1)
			advance(5 * time.Second)
			src.fail(nil)
			wantFetch(t, cs[1], 1, fetched{"1.2", cache.Load, false, nil})
		})
	}
}

// A code that no process writes is not shown. Its cell is unreadable.
func TestForgedErrorCode(t *testing.T) {
	for name, code := range map[string]string{
		"long": strings.Repeat("x", 65), "very long": strings.Repeat("x", 1<<20), "a line break": "a\nERROR b", "not UTF-8": "\xff",
	} {
		bubble(t, name, func(t *testing.T) {
			src, mem := &source{}, tiertest.NewMemory()
			src.fail(errSource)
			ts, cs := fleet(t, 2, mem, cache.TiersConfig{}, thingConfig{Load: src.load, Policy: patch{ErrorTTL: new(time.Minute)}})
			_, _ = cs[0].Get(t.Context(), 1)
			frame := cellOf(t, mem, cell1)
			if cell, err := tier.ParseCell(frame); err != nil || cell.Flags&tier.Negative == 0 {
				t.Fatalf("the cell is %+v, %v; want a remembered error", cell, err)
			}
			store(t, mem, cell1, rewrite(func(c *tier.Cell) { c.Payload = []byte(code) })(frame), time.Minute)
			src.fail(nil)
			wantFetch(t, cs[1], 1, fetched{"1.2", cache.Load, false, nil})
			if n := total(ts[1]).CellsCorrupt; n != 1 {
				t.Errorf("CellsCorrupt = %d, want 1", n)
			}
		})
	}
}

// failedElsewhere returns two processes. The first holds an old value of key 1, whose cell is gone.
// In the second a load of the key has just failed, and the error is remembered for 5 s.
func failedElsewhere(t *testing.T, p patch) (src *source, remote *tiertest.Faulty, ts []*cache.Tiers, cs []things) {
	t.Helper()
	src, remote = &source{}, faulty()
	p.ErrorTTL = new(5 * time.Second)
	ts, cs = fleet(t, 2, remote, cache.TiersConfig{}, thingConfig{Load: src.load, Policy: p})
	get(t, cs[0], 1)
	advance(time.Minute)
	must(t, remote.Unlink(t.Context(), cell1)) // evicted
	src.fail(errSource)
	if _, err := cs[1].Get(t.Context(), 1); !errors.Is(err, errSource) {
		t.Errorf("Get = %v, want the source's error", err)
	}
	src.wantLoads(t, 2)
	return src, remote, ts, cs
}

// A remembered error replaces no good value of another process.
func TestRememberedErrorOfAnotherProcess(t *testing.T) {
	for _, tt := range []struct {
		name    string
		disturb func(ctx context.Context, c things)
	}{
		{"read", func(context.Context, things) {}},
		{"Peek first", func(ctx context.Context, c things) { c.Peek(ctx, 1) }},
		{"a read that refuses old values first", func(ctx context.Context, c things) { _, _ = c.Fetch(ctx, 1, nil, cache.Fresh()) }},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			p := failSafe
			p.Stale = new(10 * time.Second)
			src, _, ts, cs := failedElsewhere(t, p)
			tt.disturb(t.Context(), cs[0])
			before := reads(ts[0])
			for range 4 {
				wantFetch(t, cs[0], 1, fetched{"1.1", cache.Local, true, nil})
				advance(time.Second)
			}
			src.wantLoads(t, 2)
			if n := reads(ts[0]) - before; n != 4 {
				t.Errorf("%d reads are counted, want 4", n)
			}
			if _, err := cs[0].Fetch(t.Context(), 1, nil, cache.Fresh()); !isRemembered(err) {
				t.Errorf("without old values: %v, want the remembered error", err)
			}
		})
	}
}

func TestZeroValueIsAValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		mem := tiertest.NewMemory()
		cfg := cache.Config[int, *int]{Load: func(context.Context, int) (*int, error) { n++; return nil, nil }}
		c, d := with(t, open(t, cache.TiersConfig{Remote: mem}), cfg), with(t, open(t, cache.TiersConfig{Remote: mem}), cfg)
		for range 2 {
			if v := get(t, c, 1); v != nil {
				t.Errorf("Get = %v, want nil", v)
			}
			if r, err := d.Fetch(t.Context(), 1, nil); r.Value != nil || err != nil || r.Negative {
				t.Errorf("in the other process: %+v, %v", r, err)
			}
		}
		if v, ok := c.Peek(t.Context(), 1); v != nil || !ok {
			t.Errorf("Peek = %v, %v, want nil, true", v, ok)
		}
		m, err := c.GetMany(t.Context(), []int{1})
		if _, ok := m[1]; !ok || err != nil {
			t.Errorf("GetMany = %v, %v, want a nil for 1", m, err)
		}
		if n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
	})
}

func TestAdmission(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, tt := range []struct {
		name   string
		remote bool
		policy patch
		took   time.Duration
		load   func(ctx context.Context) (string, error)
		stored bool
		count  func(cache.Counts) int64
	}{
		{
			name: "MinLoad not reached", policy: patch{MinLoad: new(10 * time.Millisecond)}, took: 9 * time.Millisecond,
			count: func(s cache.Counts) int64 { return s.FillsNotAdmitted },
		},
		{name: "MinLoad reached", policy: patch{MinLoad: new(10 * time.Millisecond)}, took: 10 * time.Millisecond, stored: true},
		{
			name: "MaxValueBytes, one tier", policy: patch{MaxValueBytes: new(999)},
			load:  func(context.Context) (string, error) { return long, nil },
			count: func(s cache.Counts) int64 { return s.FillsTooLarge },
		},
		{
			name: "MaxValueBytes, two tiers", remote: true, policy: patch{MaxValueBytes: new(999)},
			load:  func(context.Context) (string, error) { return long, nil },
			count: func(s cache.Counts) int64 { return s.FillsTooLarge },
		},
		{
			name: "NoStore", remote: true,
			load:  func(ctx context.Context) (string, error) { cache.Filling(ctx).NoStore(); return "v", nil },
			count: func(s cache.Counts) int64 { return s.FillsNotWanted },
		},
		{
			name: "SetTTL of nothing", load: func(ctx context.Context) (string, error) { cache.Filling(ctx).SetTTL(0); return "v", nil },
			count: func(s cache.Counts) int64 { return s.FillsNotWanted },
		},
		{name: "stored", remote: true, stored: true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			var tc cache.TiersConfig
			mem := tiertest.NewMemory()
			if tt.remote {
				tc.Remote = mem
			}
			tiers := open(t, tc)
			n := 0
			c := with(t, tiers, thingConfig{Policy: tt.policy, Load: func(ctx context.Context, _ int) (string, error) {
				n++
				_ = nap(ctx, tt.took)
				if tt.load != nil {
					return tt.load(ctx)
				}
				return "v", nil
			}})
			for range 2 {
				if v := get(t, c, 1); v == "" {
					t.Error("the value was not returned")
				}
			}
			if stored := n == 1; stored != tt.stored {
				t.Errorf("%d loads in two reads, want stored = %v", n, tt.stored)
			}
			if tt.count != nil && tt.count(total(tiers)) != 2 {
				t.Errorf("counted %d times, want 2: %+v", tt.count(total(tiers)), total(tiers))
			}
			if left := mem.Len(); tt.remote && (left == 1) != tt.stored {
				t.Errorf("%d cells in the remote tier", left)
			}
		})
	}
}

func TestFillHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		var late *cache.Fill
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
			n++
			f := cache.Filling(ctx)
			f.SetTTL(5 * time.Second)
			f.SetStale(20 * time.Second)
			late = f
			return "v", nil
		}})
		get(t, c, 1)
		late.NoStore() // too late: it has no effect
		advance(4 * time.Second)
		wantFetch(t, c, 1, fetched{"v", cache.Local, false, nil})
		advance(time.Second)
		wantFetch(t, c, 1, fetched{"v", cache.Local, true, nil})
		synctest.Wait()
		if n != 2 {
			t.Errorf("%d loads, want 2", n)
		}
		advance(time.Hour)
		wantFetch(t, c, 1, fetched{"v", cache.Load, false, nil})
		// Outside a loader the handle is nil and does nothing.
		f := cache.Filling(t.Context())
		if f != nil {
			t.Error("Filling outside a loader is not nil")
		}
		f.SetTTL(time.Second)
		f.SetStale(time.Second)
		f.NoStore()
		cache.Depend(t.Context(), "tag")
	})
}

// Who joins a flight gets what its own options allow.
func TestRememberedErrorAndFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := failSafe
		p.Throttle = new(500 * time.Millisecond)
		src, remote, _, cs := failedElsewhere(t, p)
		advance(2 * time.Second)
		remote.Delay(10 * time.Millisecond)
		strict := make(chan error)
		go func() {
			_, err := cs[0].Fetch(t.Context(), 1, nil, cache.Fresh())
			strict <- err
		}()
		synctest.Wait()
		wantFetch(t, cs[0], 1, fetched{"1.1", cache.Local, true, nil})
		if err := <-strict; !isRemembered(err) {
			t.Errorf("without old values: %v, want the remembered error", err)
		}
		advance(time.Second)
		src.fail(nil)
		go func() { _, _ = cs[0].Get(t.Context(), 1) }()
		synctest.Wait()
		wantFetch(t, cs[0], 1, fetched{"1.3", cache.Load, false, nil}, cache.MaxAge(time.Second)) // the error is older
	})
}

// reads returns how many reads are counted.
func reads(ts *cache.Tiers) int64 {
	n := total(ts)
	return n.LocalHits + n.RemoteHits + n.Misses + n.Merged
}

func isRemembered(err error) bool {
	_, ok := errors.AsType[*cache.RememberedError](err)
	return ok
}

// response is a large object that a loader's error refers to.
type response struct{ body [1 << 20]byte }

type responseError struct{ r *response }

func (e *responseError) Error() string { return "the answer was 500 " + string(e.r.body[:2]) }

// Of a remembered error the cache keeps the code, the text, and a Coder. It does not keep other
// objects alive that the error refers to.
func TestRememberedErrorKeepsTextAlone(t *testing.T) {
	var kept weak.Pointer[response]
	tiers := open(t, cache.TiersConfig{})
	loads := 0
	c := with(t, tiers, thingConfig{
		Policy: patch{ErrorTTL: new(time.Hour)},
		Load: func(context.Context, int) (string, error) {
			loads++
			r := new(response)
			copy(r.body[:], "ok")
			kept = weak.Make(r)
			return "", &responseError{r}
		},
	})
	func() { // the caller that loads gets the original error
		_, err := c.Get(t.Context(), 1)
		if re, ok := errors.AsType[*responseError](err); !ok || re.r == nil {
			t.Errorf("Get = %v, want the loader's error", err)
		}
	}()
	for range 1000 { // the load's goroutine may not have ended yet
		if runtime.GC(); kept.Value() == nil {
			break
		}
	}
	if kept.Value() != nil {
		t.Error("the remembered error keeps alive an object that the loader's error refers to")
	}
	_, err := c.Get(t.Context(), 1)
	re, ok := errors.AsType[*cache.RememberedError](err)
	if !ok || re.Code != "error" || !strings.Contains(err.Error(), "the answer was 500 ok") {
		t.Errorf("second Get = %v, want the code and the text", err)
	}
	if loads != 1 {
		t.Errorf("%d loads, want 1", loads)
	}
}

// Fill.SetTTL also sets how long an absence is remembered, in both tiers and in batches.
func TestSetTTLOfAnAbsence(t *testing.T) {
	for _, batch := range []bool{false, true} {
		for _, ttl := range []time.Duration{time.Second, time.Minute} { // NegativeTTL lies between
			bubble(t, fmt.Sprintf("%v, batch=%v", ttl, batch), func(t *testing.T) { setTTLOfAnAbsence(t, ttl, batch) })
		}
	}
}

func setTTLOfAnAbsence(t *testing.T, ttl time.Duration, batch bool) {
	var loads atomic.Int64
	cfg := thingConfig{Policy: patch{NegativeTTL: new(10 * time.Second)}}
	load := func(ctx context.Context) error {
		loads.Add(1)
		cache.Filling(ctx).SetTTL(ttl)
		return cache.ErrNotFound
	}
	cfg.Load = func(ctx context.Context, _ int) (string, error) { return "", load(ctx) }
	if batch {
		cfg.LoadMany = func(ctx context.Context, _ []int) (map[int]string, error) { return nil, load(ctx) }
	}
	_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, cfg)
	read := func(c things) {
		t.Helper()
		if batch {
			if m, err := c.GetMany(t.Context(), []int{1, 2}); len(m) > 0 || err != nil {
				t.Errorf("GetMany = %v, %v, want nothing", m, err)
			}
			return
		}
		_, err := c.Get(t.Context(), 1)
		wantError(t, err, "get", cell1, cache.ErrNotFound)
	}
	read(cs[0])
	advance(ttl - 10*time.Millisecond)
	read(cs[0])
	read(cs[1])
	if n := loads.Load(); n != 1 {
		t.Errorf("%d loads just before the absence expires after %v, want 1", n, ttl)
	}
	advance(20 * time.Millisecond)
	read(cs[0])
	read(cs[1])
	if n := loads.Load(); n != 2 {
		t.Errorf("%d loads just after the absence expired after %v, want 2", n, ttl)
	}
}
