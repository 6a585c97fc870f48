package tiertest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func TestMemory(t *testing.T) {
	tiertest.TestRemoteInBubble(t, func(*testing.T) tier.Remote { return tiertest.NewMemory() })
}

// The suite must also work on the real clock, where other tiers run it.
func TestMemoryOnTheRealClock(t *testing.T) {
	tiertest.TestRemote(t, func(*testing.T) tier.Remote { return new(tiertest.Memory) })
}

func TestMemoryForgetsWhatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := tiertest.NewMemory()
		claim := func(lease time.Duration) {
			key := string(append([]byte("key "), nonceBytes()...))
			if _, err := tiercall.Claim(t.Context(), m, key, tier.Claim{Nonce: tier.NewNonce(), Lease: lease}); err != nil {
				t.Fatalf("Claim = %v", err)
			}
		}
		for range 100 {
			claim(time.Second)
		}
		if got := m.Len(); got != 100 {
			t.Fatalf("Len() = %d, want 100", got)
		}
		<-time.After(time.Second)
		if got := m.Len(); got != 0 {
			t.Errorf("Len() after all leases = %d, want 0", got)
		}
	})
}

func nonceBytes() []byte {
	n := tier.NewNonce()
	return n[:]
}

func TestMemoryRefusesTheZeroNonce(t *testing.T) {
	m := tiertest.NewMemory()
	if _, err := tiercall.Claim(t.Context(), m, "k", tier.Claim{Lease: time.Second}); !errors.Is(err, tier.ErrNonce) {
		t.Errorf("Claim = %v, want %v", err, tier.ErrNonce)
	}
	if _, err := tiercall.Fill(t.Context(), m, "k", tier.Fill{}); !errors.Is(err, tier.ErrNonce) {
		t.Errorf("Fill = %v, want %v", err, tier.ErrNonce)
	}
}
