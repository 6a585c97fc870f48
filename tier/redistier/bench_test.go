package redistier_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// BenchmarkGet compares a hit with a GET of the client library.
func BenchmarkGet(b *testing.B) {
	rdb := redistest.Start(b).Client()
	prefix := redistest.Prefix()
	r := redistier.New(rdb, redistier.Config{Prefix: prefix})
	keys := fill(b, r, 100)
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := rdb.Get(b.Context(), prefix+":v:"+keys[0]).Bytes(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tier", func(b *testing.B) {
		b.ReportAllocs()
		frames := make([][]byte, 1)
		for b.Loop() {
			if err := r.Get(b.Context(), keys[:1], frames); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tier, 100 keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tiercall.GetMany(b.Context(), r, keys); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkGetTogether compares hits of many goroutines, which leave together, with the same GETs
// sent one by one.
func BenchmarkGetTogether(b *testing.B) {
	rdb := redistest.Start(b).Client()
	prefix := redistest.Prefix()
	r := redistier.New(rdb, redistier.Config{Prefix: prefix})
	keys := fill(b, r, 100)
	get := map[string]func(key string) error{
		"bare": func(key string) error { return rdb.Get(b.Context(), prefix+":v:"+key).Err() },
		"tier": func(key string) error { _, err := tiercall.Get(b.Context(), r, key); return err },
	}
	for _, goroutines := range []int{1, 4, 8, 64} {
		for _, who := range []string{"bare", "tier"} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", who, goroutines), func(b *testing.B) {
				b.ReportAllocs()
				together(b, goroutines, func(i int) error { return get[who](keys[i%len(keys)]) })
			})
		}
	}
}

// together runs op in the given number of goroutines, b.N times in all.
func together(b *testing.B, goroutines int, op func(i int) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := op(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkClaimFill measures what a miss adds to the load.
func BenchmarkClaimFill(b *testing.B) {
	r := redistier.New(redistest.Start(b).Client(), redistier.Config{Prefix: redistest.Prefix()})
	var seen tier.Nonce
	value := kilobyte(b)
	b.ReportAllocs()
	for b.Loop() {
		n := tier.NewNonce()
		if _, err := tiercall.Claim(b.Context(), r, "k", tier.Claim{Seen: seen, Nonce: n, Lease: time.Minute}); err != nil {
			b.Fatal(err)
		}
		if ok, err := tiercall.Fill(b.Context(), r, "k", tier.Fill{Nonce: n, Cell: value, TTL: time.Minute}); !ok || err != nil {
			b.Fatal(ok, err)
		}
		seen = tier.Nonce(value[1:])
	}
}

func fill(b *testing.B, r *redistier.Tier, n int) (keys []string) {
	claims, fills := make([]tier.Claim, n), make([]tier.Fill, n)
	for i := range n {
		keys = append(keys, fmt.Sprint("key", i))
		claims[i] = tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute}
		fills[i] = tier.Fill{Nonce: claims[i].Nonce, Cell: kilobyte(b), TTL: time.Hour}
	}
	if _, err := tiercall.ClaimMany(b.Context(), r, keys, claims); err != nil {
		b.Fatal(err)
	}
	if _, err := tiercall.FillMany(b.Context(), r, keys, fills); err != nil {
		b.Fatal(err)
	}
	return keys
}

func kilobyte(b *testing.B) []byte {
	c := tier.Cell{Nonce: tier.NewNonce(), Codec: "raw", Payload: make([]byte, 1024)}
	frame, err := c.Encode()
	if err != nil {
		b.Fatal(err)
	}
	return frame
}
