package redislog_test

import (
	"encoding/binary"
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
	payload := "\x03\x00\x00\x00\x00\x00\x00\x00\x07"
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

// Records may have some ten thousand bytes each. A page of them must not have fifty million.
func TestPagesOfLargeRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := invalidate.Append{Scopes: make([]invalidate.Fence, invalidate.MaxFences)}
	for i := range a.Scopes {
		a.Scopes[i] = invalidate.Fence{Kind: invalidate.KindPrefix, Hash: uint64(i), Len: 3, Part: 1}
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
	for range 130 {
		p.sync(a)
	}
	late := patient()
	page := late.sync(invalidate.Append{})
	if n := len(page.Scopes); !page.More || n != 100 {
		t.Errorf("the first page has %d records, more: %v; want one chunk of 100, and more", n, page.More)
	}
	wantDense(t, "scopes", late.scopes, nil)
	if len(late.scopes) != 131 || len(late.scopes[130].Fences) != invalidate.MaxFences {
		t.Errorf("read %d records, the last of %d fences", len(late.scopes), len(late.scopes[130].Fences))
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
		{"name", "value"}, {"d", ""}, {"d", "\x01short"}, {"t", "x", "d", "\x09\x00\x00\x00\x00\x00\x00\x00\x01"},
		{"d", "\x03\x00\x00\x00\x00\x00\x00\x00\x01"}, // a tag among keys
	} {
		at++
		r.do(append([]any{"XADD", r.k, id(at)}, fields...)...)
	}
	tailed := r.process()
	tailed.at = p.at
	page, err := tailed.log.Tail(t.Context(), tailed.at)
	if err != nil || len(page.Keys) != 5 {
		t.Fatalf("Tail = %d records, %v; want 5", len(page.Keys), err)
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
		Keys: []invalidate.Fence{{Kind: invalidate.KindKey, Hash: 0x0102030405060708}},
		Scopes: []invalidate.Fence{
			{Kind: invalidate.KindPrefix, Hash: 1, Len: 258},
			{Kind: invalidate.KindPrefix, Hash: 3, Len: 1, Part: 0x405},
			{Kind: invalidate.KindTag, Hash: 2},
		},
	})
	rdb := r.server.Client()
	for stream, want := range map[string]string{
		r.k: "\x01\x01\x02\x03\x04\x05\x06\x07\x08",
		r.s: "\x02\x00\x00\x00\x00\x00\x00\x00\x01\x01\x02" + "\x22\x00\x00\x00\x00\x00\x00\x00\x03\x00\x01\x04\x05" + "\x03\x00\x00\x00\x00\x00\x00\x00\x02",
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
	if meta["kl"] != id(page.Key) || meta["sl"] != id(page.Scope) || meta["b"] != "10000" || len(meta["run"]) != 40 {
		t.Errorf("%s has %v", r.m, meta)
	}
	if ttl := rdb.TTL(t.Context(), r.m).Val(); ttl != -1 {
		t.Errorf("%s expires in %v, want never", r.m, ttl)
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
