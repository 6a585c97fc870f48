package tiertest_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func TestFaultyWithoutFaultsKeepsTheContract(t *testing.T) {
	tiertest.TestRemoteInBubble(t, func(*testing.T) tier.Remote { return tiertest.NewFaulty(tiertest.NewMemory()) })
}

// stored returns a faulty tier that holds one value under "k", and its nonce.
func stored(t *testing.T) (*tiertest.Faulty, *tiertest.Memory, tier.Nonce) {
	t.Helper()
	m := tiertest.NewMemory()
	n := tier.NewNonce()
	fill(t, m, "k", n)
	return tiertest.NewFaulty(m), m, n
}

func fill(t *testing.T, r tier.Remote, key string, n tier.Nonce) {
	t.Helper()
	c := tier.Cell{Nonce: n, Codec: "raw", Payload: []byte("payload of " + key)}
	frame, err := c.Encode()
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	if _, err := tiercall.Claim(t.Context(), r, key, tier.Claim{Nonce: n, Lease: time.Minute}); err != nil {
		t.Fatalf("Claim = %v", err)
	}
	if ok, err := tiercall.Fill(t.Context(), r, key, tier.Fill{Nonce: n, Cell: frame, TTL: time.Minute}); !ok || err != nil {
		t.Fatalf("Fill = %v, %v", ok, err)
	}
}

func TestFaultyFail(t *testing.T) {
	f, _, _ := stored(t)
	boom := errors.New("boom")
	f.Fail(boom, tiertest.Get)
	if _, err := tiercall.Get(t.Context(), f, "k"); !errors.Is(err, boom) {
		t.Errorf("Get = %v, want %v", err, boom)
	}
	if got, err := tiercall.GetMany(t.Context(), f, []string{"k"}); !errors.Is(err, boom) || len(got) != 1 || got[0] != nil {
		t.Errorf("GetMany = %q, %v; want one empty answer and %v", got, err, boom)
	}
	if _, err := tiercall.Fill(t.Context(), f, "none", tier.Fill{Nonce: tier.NewNonce()}); err != nil {
		t.Errorf("Fill = %v, want nil: only reads fail", err)
	}
	f.Fail(boom)
	if err := tiercall.Remove(t.Context(), f, "k"); !errors.Is(err, boom) {
		t.Errorf("Remove = %v, want %v", err, boom)
	}
	f.Heal()
	if b, err := tiercall.Get(t.Context(), f, "k"); b == nil || err != nil {
		t.Errorf("Get after Heal = %q, %v; want the frame: the failed Remove must not have reached it", b, err)
	}
	if got := f.Calls(tiertest.Get); got != 3 {
		t.Errorf("Calls(Get) = %d, want 3", got)
	}
	if got := f.Calls(); got != 5 {
		t.Errorf("Calls() = %d, want 5", got)
	}
	if f.ResetCalls(); f.Calls() != 0 {
		t.Errorf("Calls() after ResetCalls = %d, want 0", f.Calls())
	}
}

func TestFaultyFailKeys(t *testing.T) {
	f, m, _ := stored(t)
	fill(t, m, "l", tier.NewNonce())
	boom := errors.New("boom")
	f.FailKeys(boom, "k")
	got, err := tiercall.GetMany(t.Context(), f, []string{"k", "l", "k"})
	if !errors.Is(err, boom) || got[0] != nil || got[1] == nil || got[2] != nil {
		t.Errorf("GetMany = %.9q, %v; want only the second frame and %v", got, err, boom)
	}
	n := tier.NewNonce()
	c := tier.Claim{Nonce: n, Lease: time.Minute}
	claimed, err := tiercall.ClaimMany(t.Context(), f, []string{"k", "new"}, []tier.Claim{c, c})
	if !errors.Is(err, boom) || claimed[0].Granted || !claimed[1].Granted {
		t.Errorf("ClaimMany = %v, %v; want only the second claim granted and %v", claimed, err, boom)
	}
	x := tier.Fill{Nonce: n}
	filled, err := tiercall.FillMany(t.Context(), f, []string{"k", "new"}, []tier.Fill{x, x})
	if !errors.Is(err, boom) || filled[0] || !filled[1] {
		t.Errorf("FillMany = %v, %v; want only the second and %v", filled, err, boom)
	}
	f.FailKeys(nil, "k")
	if _, err := tiercall.Get(t.Context(), f, "k"); err != nil {
		t.Errorf("Get after FailKeys(nil) = %v, want nil", err)
	}
}

func TestFaultyFills(t *testing.T) {
	for _, tc := range []struct {
		name    string
		drop    bool
		lose    bool
		answer  bool
		err     error
		changed bool
	}{
		{"work", false, false, true, nil, true},
		{"lost", true, false, true, nil, false},
		{"unacked", false, true, false, tiertest.ErrUnacked, true},
	} {
		for _, many := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				f, m, n := stored(t)
				f.DropFills(tc.drop)
				f.LoseFills(tc.lose)
				lease := tier.LeaseCell(n)
				x := tier.Fill{Nonce: n, Cell: lease, TTL: time.Minute}
				var ok bool
				var err error
				if many {
					var oks []bool
					oks, err = tiercall.FillMany(t.Context(), f, []string{"k"}, []tier.Fill{x})
					ok = oks[0]
				} else {
					ok, err = tiercall.Fill(t.Context(), f, "k", x)
				}
				if ok != tc.answer || !errors.Is(err, tc.err) {
					t.Errorf("fill = %v, %v; want %v, %v", ok, err, tc.answer, tc.err)
				}
				got, _ := tiercall.Get(t.Context(), m, "k")
				if bytes.Equal(got, lease) != tc.changed {
					t.Errorf("stored: %v, want %v", !tc.changed, tc.changed)
				}
			})
		}
	}
}

func TestFaultyCorrupt(t *testing.T) {
	f, m, _ := stored(t)
	clean, _ := tiercall.Get(t.Context(), m, "k")
	read := map[string]func() []byte{
		"Get": func() []byte { b, _ := tiercall.Get(t.Context(), f, "k"); return b },
		"GetMany": func() []byte {
			b, _ := tiercall.GetMany(t.Context(), f, []string{"k"})
			return b[0]
		},
		"Claim": func() []byte {
			c, _ := tiercall.Claim(t.Context(), f, "k", tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute})
			return c.Cell
		},
	}
	for op, get := range read {
		f.Corrupt(func(b []byte) []byte { b[60] ^= 1; return b })
		if _, err := tier.ParseCell(get()); !errors.Is(err, tier.ErrChecksum) {
			t.Errorf("%s of a flipped bit: ParseCell = %v, want %v", op, err, tier.ErrChecksum)
		}
		f.Corrupt(func(b []byte) []byte { return b[:5] })
		if got := get(); len(got) != 5 {
			t.Errorf("%s of a cut frame = %d bytes, want 5", op, len(got))
		}
		f.Corrupt(func([]byte) []byte { return []byte("rubbish") })
		if got := get(); string(got) != "rubbish" {
			t.Errorf("%s of another frame = %q, want rubbish", op, got)
		}
		f.Corrupt(nil)
		if got := get(); !bytes.Equal(got, clean) {
			t.Errorf("%s after Corrupt(nil) differs from what is stored", op)
		}
	}
	f.Corrupt(func(b []byte) []byte { b[0] ^= 8; return b })
	if b, err := tiercall.Get(t.Context(), f, "none"); b != nil || err != nil {
		t.Errorf("Get of nothing of a flipped bit = %q, %v; want nil, nil", b, err)
	}
}

func TestFaultyDelayAndHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, _ := stored(t)
		start := time.Now()
		f.Delay(time.Second, tiertest.Get)
		if _, err := tiercall.Get(t.Context(), f, "k"); err != nil || time.Since(start) != time.Second {
			t.Errorf("Get under Delay(1s) = %v after %v, want nil after 1s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := tiercall.Get(ctx, f, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get under Delay(1s) with 100 ms = %v, want %v", err, context.DeadlineExceeded)
		}
		f.Delay(0)

		f.Hang(true)
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := tiercall.Remove(ctx, f, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Remove under Hang = %v, want %v", err, context.DeadlineExceeded)
		}
		done := make(chan error)
		go func() { _, err := tiercall.Get(t.Context(), f, "k"); done <- err }()
		synctest.Wait()
		f.Heal()
		if err := <-done; err != nil {
			t.Errorf("Get that was hanging when healed = %v, want nil", err)
		}
	})
}

func TestFaultyBefore(t *testing.T) {
	f, _, _ := stored(t)
	var got []tiertest.Op
	f.Before(func(_ context.Context, op tiertest.Op, keys []string) {
		if len(keys) == 2 {
			got = append(got, op)
		}
	})
	_, _ = tiercall.GetMany(t.Context(), f, []string{"k", "l"})
	_ = tiercall.Remove(t.Context(), f, "k", "l")
	if len(got) != 2 || got[0] != tiertest.Get || got[1] != tiertest.Remove {
		t.Errorf("Before saw %v, want Get and Remove with two keys", got)
	}
}

func TestFaultyDescribesItsTier(t *testing.T) {
	invalid := errors.New("invalid")
	f := tiertest.NewFaulty(described{tiertest.NewMemory(), invalid})
	if err := f.Validate(); !errors.Is(err, invalid) {
		t.Errorf("Validate = %v, want the inner tier's %v", err, invalid)
	}
	if got, want := f.Describe(f), (tier.Description{Name: "inner", Looks: true}); got != want {
		t.Errorf("Describe = %+v, want %+v: a log would bypass the faults", got, want)
	}
}

type described struct {
	*tiertest.Memory
	err error
}

func (d described) Validate() error { return d.err }

func (d described) Describe(self tier.Remote) tier.Description {
	if self == d {
		return tier.Description{Server: "here"}
	}
	return tier.Description{Name: "inner", Looks: true}
}
