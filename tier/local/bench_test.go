package local_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/localbench"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
)

var contender = localbench.Contender{Name: "tier", Open: func(t testing.TB, capacity int) tier.Local {
	return open(t, int64(capacity)*(localbench.EntryCost+local.Overhead))
}}

func BenchmarkGet(b *testing.B) {
	localbench.Get(b, localbench.Map, contender, localbench.Ristretto(false))
}

func BenchmarkSet(b *testing.B) { localbench.Set(b, contender, localbench.Ristretto(true)) }

func BenchmarkMixed(b *testing.B) { localbench.Mixed(b, contender, localbench.Ristretto(false)) }
