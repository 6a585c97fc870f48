package redistier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// BenchmarkGet compares a hit with the GET of the client library it is made of.
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
		for b.Loop() {
			if _, err := r.Get(b.Context(), keys[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tier, 100 keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.GetMany(b.Context(), keys); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkClaimFill is what a miss adds to the load.
func BenchmarkClaimFill(b *testing.B) {
	r := redistier.New(redistest.Start(b).Client(), redistier.Config{Prefix: redistest.Prefix()})
	var seen tier.Nonce
	value := kilobyte(b)
	b.ReportAllocs()
	for b.Loop() {
		n := tier.NewNonce()
		if _, err := r.Claim(b.Context(), "k", tier.Claim{Seen: seen, Nonce: n, Lease: time.Minute}); err != nil {
			b.Fatal(err)
		}
		if ok, err := r.Fill(b.Context(), "k", tier.Fill{Nonce: n, Cell: value, TTL: time.Minute}); !ok || err != nil {
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
	if _, err := r.ClaimMany(b.Context(), keys, claims); err != nil {
		b.Fatal(err)
	}
	if _, err := r.FillMany(b.Context(), keys, fills); err != nil {
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
