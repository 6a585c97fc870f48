package ristretto_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/ristretto"
)

type carrier struct {
	localnode.Node
	name string
}

// TestNodeInTheEntry stores entries that contain their own node, also more than once. A node that
// was in use is not used again.
func TestNodeInTheEntry(t *testing.T) {
	l := ristretto.New(ristretto.Config{MaxBytes: 1 << 20})
	defer l.Close()
	left := map[string]int{}
	l.OnEvict(func(e tier.Entry, _ int64, _ tier.EvictReason) { left[e.(*carrier).name]++ })
	a, b := &carrier{name: "a"}, &carrier{name: "b"}
	want := func(hash uint64, e *carrier) {
		t.Helper()
		got, ok := l.Get(hash)
		if e == nil && ok {
			t.Errorf("Get(%d) = %v, want a miss", hash, got)
		}
		if e != nil && got != tier.Entry(e) {
			t.Errorf("Get(%d) = %v, %v, want %s", hash, got, ok, e.name)
		}
	}
	l.Set(1, a, 10)
	l.Set(2, a, 10) // the same entry under two hashes
	l.Set(3, b, 10)
	want(1, a)
	want(2, a)
	want(3, b)
	l.Delete(1)
	want(1, nil)
	want(2, a)
	l.Set(1, a, 10) // again, after it left
	l.Set(3, a, 10)
	want(1, a)
	want(3, a)
	if left["a"] != 1 || left["b"] != 1 {
		t.Errorf("reported %v, want a and b once each", left)
	}
	if _, n := l.Usage(); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}
