package tier_test

import (
	"testing"

	"github.com/twofold-go/twofold/tier"
)

func TestEvictReasonString(t *testing.T) {
	for r, want := range map[tier.EvictReason]string{
		tier.Evicted: "evicted", tier.Rejected: "rejected", tier.Replaced: "replaced", tier.Deleted: "deleted",
		tier.Expired: "expired", tier.Closed: "closed", 0: "unknown",
	} {
		if got := r.String(); got != want {
			t.Errorf("EvictReason(%d).String() = %q, want %q", r, got, want)
		}
	}
}
