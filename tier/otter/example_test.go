package otter_test

import (
	"fmt"

	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/otter"
)

// A tier on its own. A program passes it to cache.TiersConfig as Local.
func Example() {
	l := otter.New(otter.Config{MaxBytes: 1 << 20})
	defer l.Close()
	l.OnEvict(func(e tier.Entry, cost int64, reason tier.EvictReason) {
		fmt.Println(e, "left:", reason, "of", cost, "bytes")
	})

	l.Set(42, "Ada", 3)
	l.Set(42, "Grace", 5)
	e, ok := l.Get(42)
	fmt.Println(e, ok)
	l.Delete(42)
	fmt.Println(l.Usage())
	// Output:
	// Ada left: replaced of 3 bytes
	// Grace true
	// Grace left: deleted of 5 bytes
	// 0 0
}
