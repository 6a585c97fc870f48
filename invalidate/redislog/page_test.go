package redislog_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// fill writes n records of one tag to the scope sequence, much faster than n appends.
func fill(t testing.TB, r *rig, n int) {
	t.Helper()
	p := r.started(1)
	rdb := r.server.Client()
	pipe := rdb.Pipeline()
	payload := "t t:7"
	last := string(binary.BigEndian.AppendUint64(nil, p.at.ScopeID))
	for i := range n {
		at := p.at.Scope + 1 + invalidate.Position(i)
		own := string(binary.BigEndian.AppendUint64(nil, uint64(i+1)))
		pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: r.s, ID: id(at), Values: []any{"t", 1, "d", payload, "i", own + last}})
		last = own
		if pipe.Len() == 1000 || i == n-1 {
			pipe.HSet(t.Context(), r.m, "sl", id(at), "si", own)
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const records = 12_345
	fill(t, r, records)
	p := r.process()
	page := p.sync(both(9))
	if n := len(page.Scopes); !page.More || n < 1000 || n > 1100 {
		t.Errorf("the first page has %d records, more: %v; want some 1000 and more", n, page.More)
	}
	if page.Scope <= page.Scopes[len(page.Scopes)-1].At {
		t.Errorf("the record appended is at %s, within the first page", id(page.Scope))
	}
	if n := len(p.scopes); n != records+3 || p.at.Scope != page.Scope {
		t.Errorf("read %d records up to %s, want %d up to %s", n, id(p.at.Scope), records+3, id(page.Scope))
	}
	wantDense(t, "scopes", p.scopes, map[uint64]bool{7: true, 9: true})
	wantDense(t, "keys", p.keys, map[uint64]bool{0: true, 9: true})
	p.wantQuiet()

	tailed := r.process()
	for tailed.at.Key != p.at.Key || tailed.at.Scope != p.at.Scope {
		page, err := tailed.log.Tail(t.Context(), tailed.at)
		if err != nil || len(page.Keys)+len(page.Scopes) > 2000 {
			t.Fatalf("Tail = %d records, %v", len(page.Keys)+len(page.Scopes), err)
		}
		tailed.take(page)
	}
	wantDense(t, "tailed scopes", tailed.scopes, nil)
	if len(tailed.scopes) != len(p.scopes) || len(tailed.keys) != len(p.keys) {
		t.Errorf("tailed %d and %d records, want %d and %d", len(tailed.keys), len(tailed.scopes), len(p.keys), len(p.scopes))
	}
}

// Records may have a million bytes each. A page of them must not have a hundred million.
func TestPagesOfLargeRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := invalidate.Append{Scopes: make([]invalidate.Fence, 1000)}
	for i := range a.Scopes {
		a.Scopes[i].Scope = invalidate.Prefix("t", fmt.Sprintf("%01000d", i))
	}
	// The log limits a call to a quarter of its bound, and these calls are large.
	patient := func() *process {
		o := r.server.Options()
		o.ReadTimeout = 10 * time.Second
		rdb := redis.NewClient(o)
		t.Cleanup(func() { _ = rdb.Close() })
		return &process{t: t, log: newLog(t, rdb, redislog.Config{Prefix: r.prefix, Bound: time.Minute})}
	}
	p := patient()
	const records = 30
	for range records {
		p.sync(a)
	}
	late := patient()
	page := late.sync(invalidate.Append{})
	if n := len(page.Scopes); !page.More || n != 10 {
		t.Errorf("the first page has %d records, more: %v; want one chunk of 10, and more", n, page.More)
	}
	wantDense(t, "scopes", late.scopes, nil)
	if n := len(late.scopes); n != records+1 || !slices.Equal(late.scopes[records].Fences, a.Scopes) {
		t.Errorf("read %d records, the last of %d fences", n, len(late.scopes[n-1].Fences))
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := newLog(t, r.server.Client(), redislog.Config{Prefix: r.prefix, Bound: patient, KeyRetention: 100, ScopeRetention: 300})
	p := &process{t: t, log: l}
	const records = 1000
	for i := range uint64(records) {
		p.sync(both(i))
	}
	for stream, want := range map[string]int64{r.k: 100, r.s: 300} {
		// Redis trims whole nodes of 100 records.
		if n, _ := r.do("XLEN", stream).(int64); n < want || n > want+200 {
			t.Errorf("%s has %d records, want %d or a little more", stream, n, want)
		}
	}
	wantDense(t, "keys", p.keys, nil)
	late := r.process()
	late.sync(invalidate.Append{})
	if first := late.scopes[0]; first.Bump || first.Damaged || gap(late.scopes) != nil || late.at != p.at {
		t.Errorf("a late process starts with %+v, and ends at %v, want %v", first, late.at, p.at)
	}
}

// Entries that another program writes into the streams are damaged records. Reading goes on.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(1)
	at := p.at.Key
	for _, fields := range [][]any{
		{"name", "value"}, {"d", ""}, {"d", "k t:n"}, {"t", "x", "d", "x t:n:1"}, {"d", "k t:n:1\n"},
		{"d", "t t:x"}, // a tag among keys
	} {
		at++
		r.do(append([]any{"XADD", r.k, id(at), "i", strings.Repeat("x", 16)}, fields...)...)
	}
	tailed := r.process()
	tailed.at = p.at
	page, err := tailed.log.Tail(t.Context(), tailed.at)
	if err != nil || len(page.Keys) != 6 {
		t.Fatalf("Tail = %d records, %v; want 6", len(page.Keys), err)
	}
	for _, rec := range page.Keys {
		if !rec.Damaged || rec.Fences != nil || rec.Bump {
			t.Errorf("record %+v, want damage", rec)
		}
	}
	r.do("XADD", r.k, "*", "name", "value") // at an id that is not a position
	page, err = tailed.log.Tail(t.Context(), p.at)
	if last := page.Keys[len(page.Keys)-1]; err != nil || !last.Damaged || last.At != at {
		t.Errorf("Tail = %+v, %v; want damage at %s, where the reader was", last, err, id(at))
	}
	p.wantBump()
	if page := p.sync(both(2)); page.Key.N() != 1 {
		t.Errorf("the next record is at %s", id(page.Key))
	}
}

// The layout in Redis is a contract with other versions of this library.
func TestLayout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(0)
	page := p.sync(invalidate.Append{
		Keys: []invalidate.Fence{{Scope: keyOf("42")}, {Scope: keyOf("é")}},
		Scopes: []invalidate.Fence{
			{Scope: keyOf("42"), Soft: true},
			{Scope: invalidate.Prefix("t", "n:")},
			{Scope: invalidate.Tag("t", "org:7\n")},
			{Scope: invalidate.All()},
		},
	})
	rdb := r.server.Client()
	for stream, want := range map[string]string{
		r.k: "k t:n:42\nk t:n:é",
		r.s: `k~ t:n:42` + "\n" + `p t:n:` + "\n" + `t t:org:7\x0a` + "\n" + `a`,
	} {
		got, err := rdb.XRange(t.Context(), stream, "-", "+").Result()
		if err != nil || len(got) != 2 {
			t.Fatalf("%s has %v, %v; want two records", stream, got, err)
		}
		if got[0].ID != id(invalidate.At(page.Key.Epoch(), 0)) || got[0].Values["b"] != "" || got[0].Values["t"] == nil {
			t.Errorf("%s begins with %v", stream, got[0])
		}
		if got[1].ID != id(page.Key) || got[1].Values["d"] != want {
			t.Errorf("%s has %q, want %q", stream, got[1].Values, want)
		}
	}
	meta := rdb.HGetAll(t.Context(), r.m).Val()
	if meta["kl"] != id(page.Key) || meta["sl"] != id(page.Scope) || meta["b"] != "10000" || len(meta["run"]) != 40 || meta["v"] != "3" {
		t.Errorf("%s has %v", r.m, meta)
	}
	if ttl := rdb.TTL(t.Context(), r.m).Val(); ttl != -1 {
		t.Errorf("%s expires in %v, want never", r.m, ttl)
	}
}

// BenchmarkRecords measures what a record of one tag takes of Redis, by the length of the tag with its
// tenant.
func BenchmarkRecords(b *testing.B) {
	r := newRig(b)
	for _, size := range []int{10, 20, 40, 100, 200} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			prefix := fmt.Sprintf("%s%d", r.prefix, size)
			p := &process{t: b, log: newLog(b, r.server.Client(), redislog.Config{Prefix: prefix})}
			add := func(i int) {
				p.sync(invalidate.Append{Scopes: []invalidate.Fence{{Scope: invalidate.Tag("t", fmt.Sprintf("%0*d", size-len("t:"), i))}}})
				p.keys, p.scopes = nil, nil
			}
			const records = 10_000
			for i := range records {
				add(i)
			}
			n := r.server.Client().MemoryUsage(b.Context(), "{"+prefix+"}:s", 0).Val()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				add(i)
			}
			b.ReportMetric(float64(n)/records, "B/record")
		})
	}
}

func TestRecordTimes(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Start(t))
	p := r.process()
	page := p.sync(both(1))
	for _, rec := range append(page.Keys, page.Scopes...) {
		if rec.Time == 0 || rec.Time > page.Now {
			t.Errorf("record of %d in a page of %d", rec.Time, page.Now)
		}
	}
}
