package follow_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// BenchmarkLease measures what a lease adds to a hit that has already read the clock.
func BenchmarkLease(b *testing.B) {
	log := logtest.NewMemory(logtest.MemoryConfig{Bound: time.Minute})
	origin := time.Now()
	w := follow.Follow(log, follow.Config{Origin: origin})
	defer func() { _ = w.Close(b.Context()) }()
	if err := w.Confirm(b.Context(), 0, time.Minute); err != nil {
		b.Fatal(err)
	}
	l := w.Lease()
	for name, check := range map[string]func() bool{
		"clock":         func() bool { return time.Since(origin) > 0 },
		"lease + clock": func() bool { read := l.Read(); return l.Covers(read, int64(time.Since(origin))) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !check() {
					b.Fatal("no lease")
				}
			}
		})
	}
}
