package sqltiertest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// BenchmarkTiers measures the figures of sqltier's documentation: its two databases and Redis, with
// 2,000 other cells of the same size in the table.
func BenchmarkTiers(b *testing.B) {
	f := dbtest.SQLite(b)
	_, db := dbtest.Postgres(b, "fsync=on", "full_page_writes=on", "shared_buffers=128MB").Database(b)
	tiers := []struct {
		name string
		r    tier.Remote
	}{
		{"sqlite", installed(b, f.Writer, sqltier.Config{Dialect: sqltier.SQLite, Readers: f.Reader})},
		{"postgres", installed(b, db, sqltier.Config{Dialect: sqltier.Postgres, MaxCell: large})},
		{"redis", redistier.New(redistest.Start(b).Client(), redistier.Config{Prefix: "bench"})},
	}
	for _, size := range []int{200, 4 << 10, 64 << 10} {
		for _, t := range tiers {
			benchmarkTier(b, fmt.Sprintf("%s/%d", t.name, size), t.r, size)
		}
	}
}

func benchmarkTier(b *testing.B, name string, r tier.Remote, size int) {
	b.Helper()
	keys := make([]string, 2000)
	for i := range keys {
		keys[i] = fmt.Sprintf("bench:%s:%d", name, i)
		store(b, r, keys[i], cell(b, size), time.Hour)
	}
	n := 0
	next := func() string { n++; return keys[n*7919%len(keys)] }
	timed(b, name+"/get", func() {
		if frame, err := tiercall.Get(b.Context(), r, next()); err != nil || len(frame) < size {
			b.Fatalf("Get = %d bytes, %v", len(frame), err)
		}
	})
	timed(b, name+"/get50", func() {
		if frames, err := tiercall.GetMany(b.Context(), r, keys[:50]); err != nil || len(frames[49]) < size {
			b.Fatalf("GetMany = %v", err)
		}
	})
	timed(b, name+"/claim+fill", func() { n++; store(b, r, fmt.Sprint(name, n, b.N), cell(b, size), time.Hour) })
	timed(b, name+"/claim+fill50", func() {
		n++
		many := make([]string, 50)
		claims, fills := make([]tier.Claim, 50), make([]tier.Fill, 50)
		for i := range many {
			many[i] = fmt.Sprint(name, n, i)
			claims[i] = tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute}
			fills[i] = tier.Fill{Nonce: claims[i].Nonce, Cell: cell(b, size), TTL: time.Minute}
		}
		if got, err := tiercall.ClaimMany(b.Context(), r, many, claims); err != nil || !got[49].Granted {
			b.Fatalf("ClaimMany = %v", err)
		}
		if got, err := tiercall.FillMany(b.Context(), r, many, fills); err != nil || !got[49] {
			b.Fatalf("FillMany = %v", err)
		}
	})
	timed(b, name+"/refresh", func() {
		key := next()
		frame, err := tiercall.Get(b.Context(), r, key)
		if err != nil {
			b.Fatal(err)
		}
		_, seen := tier.Head(frame)
		c := tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: time.Minute, Refresh: true}
		if got, err := tiercall.Claim(b.Context(), r, key, c); err != nil || !got.Granted {
			b.Fatalf("Claim = %+v, %v", got, err)
		}
		if ok, err := tiercall.Fill(b.Context(), r, key, tier.Fill{Nonce: c.Nonce, Cell: cell(b, size), TTL: time.Hour}); err != nil || !ok {
			b.Fatalf("Fill = %v, %v", ok, err)
		}
	})
}

// timed reports the median and the 99th percentile.
func timed(b *testing.B, name string, do func()) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			begun := time.Now()
			do()
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	})
}
