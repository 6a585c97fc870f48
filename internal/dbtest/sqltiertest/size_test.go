package sqltiertest_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// A frame that is too large ends its claim. It leaves nothing that a reader could wait for or be
// served.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{MaxCell: 1000})
		small := cell(t, 100)
		big := make([]byte, 1001)
		copy(big, small)
		store(t, r, "exactly", big[:1000], time.Minute)
		if !has(t, r, "exactly") {
			t.Errorf("a frame of MaxCell bytes is not stored")
		}

		store(t, r, "load", big, time.Minute)
		if has(t, r, "load") {
			t.Errorf("a frame over MaxCell is stored, or its claim stands")
		}
		claim(t, r, "load", time.Minute)

		store(t, r, "refresh", small, time.Minute)
		_, seen := tier.Head(small)
		c := tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: time.Minute, Refresh: true}
		if got, err := tiercall.Claim(t.Context(), r, "refresh", c); err != nil || !got.Granted {
			t.Fatalf("Claim = %+v, %v; want it granted", got, err)
		}
		if ok, err := tiercall.Fill(t.Context(), r, "refresh", tier.Fill{Nonce: c.Nonce, Cell: big, TTL: time.Minute}); err != nil || !ok {
			t.Errorf("Fill over MaxCell = %v, %v; want true", ok, err)
		}
		if has(t, r, "refresh") {
			t.Errorf("the value before the too large one still exists")
		}

		n := claim(t, r, "many", time.Minute)
		got, err := tiercall.FillMany(t.Context(), r, []string{"many", "no claim"},
			[]tier.Fill{{Nonce: n, Cell: big, TTL: time.Minute}, {Nonce: n, Cell: big, TTL: time.Minute}})
		if err != nil || !got[0] || got[1] {
			t.Errorf("FillMany = %v, %v; want the first alone", got, err)
		}
		if s := r.Stats(); s.TooLarge != 3 {
			t.Errorf("Stats().TooLarge = %d, want 3", s.TooLarge)
		}
	})
}

func TestSweepRemovesWhatExpired(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{})
		for i := range 20 {
			claim(t, r, fmt.Sprint("soon", i), time.Millisecond)
		}
		claim(t, r, "late", time.Hour)
		var removed int64
		eventually(t, "20 expired rows are not all swept", func() bool {
			n, err := r.Sweep(t.Context())
			if err != nil {
				t.Fatalf("Sweep = %v", err)
			}
			removed += n
			return removed == 20
		})
		if n := rowsOf(t, p.db); n != 1 || !has(t, r, "late") {
			t.Errorf("%d rows are left, want the one that has not expired", n)
		}
		if s := r.Stats(); s.Expired != 20 || s.Rows != 1 || s.Evicted != 0 {
			t.Errorf("Stats() = %+v, want 20 expired and one row", s)
		}
	})
}

// More rows than one statement removes.
func TestSweepOfManyRows(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{})
		const rows = 2500
		keys, claims := make([]string, rows), make([]tier.Claim, rows)
		for i := range keys {
			keys[i], claims[i] = fmt.Sprint("k", i), tier.Claim{Nonce: tier.NewNonce(), Lease: time.Millisecond}
		}
		if _, err := tiercall.ClaimMany(t.Context(), r, keys, claims); err != nil {
			t.Fatal(err)
		}
		eventually(t, "rows are left", func() bool {
			if _, err := r.Sweep(t.Context()); err != nil {
				t.Fatalf("Sweep = %v", err)
			}
			return r.Stats().Expired == rows
		})
		if n := rowsOf(t, p.db); n != 0 {
			t.Errorf("%d rows are left, want none", n)
		}
	})
}

// Beyond MaxBytes the values that expire first are removed. Leases stay.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{MaxBytes: 50 << 10}) // it fills nothing, so it does not sweep by itself
		unbounded := p.tier(t, sqltier.Config{})
		for i := range 100 {
			store(t, unbounded, fmt.Sprintf("k%02d", i), cell(t, 1<<10), time.Minute+time.Duration(i)*time.Second)
		}
		claim(t, r, "lease", 30*time.Second)
		removed, err := r.Sweep(t.Context())
		if err != nil || removed < 50 || removed > 60 {
			t.Fatalf("Sweep = %d, %v; want 50 to 60 of 100", removed, err)
		}
		for i := range 100 {
			if key := fmt.Sprintf("k%02d", i); has(t, r, key) != (int64(i) >= removed) {
				t.Errorf("after %d removals the value number %d by expiry is there: %v", removed, i, has(t, r, key))
			}
		}
		if !has(t, r, "lease") {
			t.Error("the lease is gone")
		}
		if s := r.Stats(); s.Evicted != removed || s.Bytes > 50<<10 || s.Rows != 101-removed {
			t.Errorf("Stats() = %+v, want %d evicted and at most 50 KB", s, removed)
		}
		if n, err := r.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("a second Sweep = %d, %v; want nothing to do", n, err)
		}
	})
}

// Processes that sweep at the same time remove the excess only once.
func TestSweepsAtOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		unbounded := p.tier(t, sqltier.Config{})
		for i := range 400 {
			store(t, unbounded, fmt.Sprintf("k%03d", i), cell(t, 1<<10), time.Minute+time.Duration(i)*time.Second)
		}
		var removed atomic.Int64
		var all sync.WaitGroup
		for range 6 {
			r := p.tier(t, sqltier.Config{MaxBytes: 200 << 10})
			all.Go(func() {
				n, err := r.Sweep(t.Context())
				removed.Add(n)
				if err != nil {
					t.Errorf("Sweep = %v", err)
				}
			})
		}
		all.Wait()
		if n := removed.Load(); n < 200 || n > 225 {
			t.Errorf("six sweeps removed %d of 400 rows, want 200 to 225", n)
		}
	})
}

// The leases by themselves exceed the bound, and no sweep can change that. It must end.
func TestMaxBytesOfLeases(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{MaxBytes: 1})
		claim(t, r, "lease", time.Minute)
		if n, err := r.Sweep(t.Context()); n != 0 || err != nil || !has(t, r, "lease") {
			t.Errorf("Sweep = %d, %v; want the lease to stay", n, err)
		}
	})
}

// The tier sweeps without a call of Sweep.
func TestSweepOfItsOwnAccord(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{MaxBytes: 10 << 10})
		for i := range 300 {
			store(t, r, fmt.Sprint("k", i), cell(t, 1<<10), time.Minute)
		}
		eventually(t, "fills do not sweep", func() bool {
			store(t, r, "more", cell(t, 0), time.Minute)
			if err := tiercall.Remove(t.Context(), r, "more"); err != nil {
				t.Fatal(err)
			}
			return rowsOf(t, p.db) < 80 && r.Stats().Evicted > 0 // it is counted after the commit
		})
		if s := r.Stats(); s.SweepErrors != 0 {
			t.Errorf("Stats() = %+v, want no errors", s)
		}
	})
}
