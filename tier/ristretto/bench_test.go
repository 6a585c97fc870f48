package ristretto_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/localbench"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/ristretto"
)

func openFor(t testing.TB, capacity int) tier.Local {
	return open(t, int64(capacity)*(localbench.EntryCost+ristretto.Overhead))
}

// contender is a full tier, or nearly full: most residents are in the main part.
var contender = localbench.Contender{Name: "tier", Open: openFor}

// BenchmarkGet also measures a tier that has all residents in the front.
func BenchmarkGet(b *testing.B) {
	localbench.Get(b, localbench.Map, contender,
		localbench.Contender{Name: "tier, front only", Open: openFor, Extra: 4}, localbench.Ristretto(false))
}

// BenchmarkSet includes drains.
func BenchmarkSet(b *testing.B) { localbench.Set(b, contender, localbench.Ristretto(true)) }

func BenchmarkMixed(b *testing.B) { localbench.Mixed(b, contender, localbench.Ristretto(false)) }
