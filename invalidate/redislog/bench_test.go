package redislog_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/invalidate"
)

// BenchmarkSync compares a Sync with the shortest round trip, each on a client with the same
// options.
func BenchmarkSync(b *testing.B) {
	r := newRig(b)
	rdb := r.server.Client()
	p := r.open(rdb)
	p.sync(both(1))
	b.Run("ping", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := rdb.Ping(b.Context()).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, a := range map[string]invalidate.Append{
		"renew": {}, "append a key": {Keys: both(1).Keys}, "append both": both(1),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				page, err := p.log.Sync(b.Context(), p.at, a)
				if err != nil {
					b.Fatal(err)
				}
				p.take(page)
				p.keys, p.scopes = nil, nil
			}
		})
	}
}

// BenchmarkCatchUp reads a full log of the default size, as a process that starts does.
func BenchmarkCatchUp(b *testing.B) {
	r := newRig(b)
	fill(b, r, 100_000)
	p := r.process()
	for b.Loop() {
		p.at, p.keys, p.scopes = invalidate.Cursor{}, nil, nil
		p.sync(invalidate.Append{})
	}
	if len(p.scopes) < 100_000 {
		b.Fatalf("read %d records", len(p.scopes))
	}
}

// BenchmarkTail appends one record and reads it by a Tail.
func BenchmarkTail(b *testing.B) {
	r := newRig(b)
	p, w := r.open(closed(b, redis.NewClient(r.server.Options()))), r.started(1)
	p.sync(invalidate.Append{})
	for b.Loop() {
		if _, err := w.log.Sync(b.Context(), w.at, both(1)); err != nil {
			b.Fatal(err)
		}
		page, err := p.log.Tail(b.Context(), p.at)
		if err != nil {
			b.Fatal(err)
		}
		p.take(page)
		w.at, p.keys, p.scopes = p.at, nil, nil
	}
}
