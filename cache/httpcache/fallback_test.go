package httpcache_test

import (
	"math"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

func TestFallbackFaults(t *testing.T) {
	if err := (httpcache.Fallback{TTL: 1, Stale: 1, StaleIfError: 1, Heuristic: 0.5, MaxHeuristic: 1}).Faults(); err != nil {
		t.Error(err)
	}
	err := httpcache.Fallback{TTL: -1, Stale: -1, StaleIfError: -1, Heuristic: math.NaN(), MaxHeuristic: -1}.Faults()
	for _, name := range []string{"TTL", "Stale ", "StaleIfError", "Heuristic", "MaxHeuristic"} {
		if err == nil || !strings.Contains(err.Error(), "field Fallback."+name) {
			t.Errorf("%s is not in %v", name, err)
		}
	}
}
