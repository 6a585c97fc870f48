package redislog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// namedTag returns an append of a tag of so many bytes, with its tenant.
func namedTag(size, n int) (invalidate.Append, invalidate.Scope) {
	tag := invalidate.Tag("default", fmt.Sprintf("%0*d", size-len("default:"), n))
	names := logwire.Names{}
	names.Add(tag)
	a := invalidate.Append{Scopes: []invalidate.Fence{tag.Fence()}}
	a.ScopeNames = names.Spell(a.Scopes)
	return a, tag
}

func (r *rig) named() *process {
	r.t.Helper()
	return &process{t: r.t, log: newLog(r.t, r.server.Client(), redislog.Config{Prefix: r.prefix, Bound: patient, Names: true})}
}

// Records of processes with and without Names are in one stream. Those without have the fields that
// they had before there were names, in both ways of the script.
func TestNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	with, without := r.named(), r.process()
	var want []string
	for i := range 40 {
		a, _ := namedTag(30, i)
		p, name := with, a.ScopeNames
		if i%3 == 0 {
			p, name = without, ""
		}
		if i%2 == 0 {
			p.sync(invalidate.Append{}) // then the script takes the short way
		}
		p.sync(a)
		want = append(want, name)
	}
	late := r.process()
	for _, p := range []*process{with, without, late} {
		p.sync(invalidate.Append{})
		var got []string
		for _, rec := range p.scopes {
			if rec.Damaged || rec.Bump != (len(rec.Fences) == 0) {
				t.Errorf("record %+v", rec)
			}
			if !rec.Bump {
				got = append(got, rec.Names)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("read the names %q, want %q", got, want)
		}
	}
	entries := r.server.Client().XRange(t.Context(), r.s, "-", "+").Val()
	for i, e := range entries[1:] {
		fields := 3
		if want[i] != "" {
			fields = 4
		}
		if len(e.Values) != fields || e.Values["n"] == "" || (want[i] != "") != (e.Values["n"] == any(want[i])) {
			t.Errorf("entry %d has %q, want %d fields", i, e.Values, fields)
		}
	}
}

// An older version reads a record with names as this version reads a record with a field that it
// does not know. Names that the log does not write are ignored.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(1)
	payload, err := redislog.Encode(both(7).Scopes, false)
	if err != nil {
		t.Fatal(err)
	}
	at := p.at.Scope
	for _, field := range [][]any{{"z", "of a later version"}, {"n", ""}, {"n", "k\xff\xff"}, {"n", strings.Repeat("k\x00", invalidate.MaxNames)}} {
		at++
		r.do(append([]any{"XADD", r.s, id(at), "t", "1", "d", payload, "i", strings.Repeat("x", 16)}, field...)...)
	}
	page, err := p.log.Tail(t.Context(), p.at)
	if err != nil || len(page.Scopes) != 4 {
		t.Fatalf("Tail = %d records, %v; want 4", len(page.Scopes), err)
	}
	for _, rec := range page.Scopes {
		if scopes, unnamed := logwire.Read(rec.Names, rec.Fences); rec.Damaged || len(rec.Names) > 3 || len(scopes) != 0 || unnamed != 1 {
			t.Errorf("record %+.80v: %v, %d unnamed; want a fence without a name", rec, scopes, unnamed)
		}
	}
}

// Names count for the size of a page.
func TestPagesOfNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.named()
	p.sync(invalidate.Append{})
	a := both(1)
	a.ScopeNames = strings.Repeat("x", invalidate.MaxNames)
	const records = 300
	for range records {
		p.sync(a)
	}
	late := r.process()
	page, err := late.log.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
	if err != nil || len(page.Scopes) > 100 || !page.More {
		t.Errorf("the first page has %d records of 64 KiB, %v; want one chunk of 100", len(page.Scopes), err)
	}
	late.sync(invalidate.Append{})
	if len(late.scopes) != records+1 || gap(late.scopes) != nil {
		t.Errorf("read %d records, %v; want %d", len(late.scopes), gap(late.scopes), records+1)
	}
}

// What a process without Names sends and stores does not depend on the names that it gets.
func TestNamesOff(t *testing.T) {
	r := newRig(t)
	client := r.server.Client()
	size := func(a invalidate.Append) (sent, stored int64) {
		prefix := r.prefix + fmt.Sprint(len(a.ScopeNames))
		l := newLog(t, closed(t, redis.NewClient(r.server.Options())), redislog.Config{Prefix: prefix, Bound: patient})
		p := &process{t: t, log: l}
		for range 300 {
			p.sync(a)
		}
		n := client.MemoryUsage(t.Context(), "{"+prefix+"}:s").Val()
		return int64(testing.AllocsPerRun(100, func() { p.sync(a); p.keys, p.scopes = nil, nil })), n
	}
	a, _ := namedTag(40, 1)
	plain := invalidate.Append{Scopes: a.Scopes}
	wantSent, wantStored := size(plain)
	sent, stored := size(a)
	if stored != wantStored {
		t.Errorf("300 records take %d bytes with names that are not kept, want %d", stored, wantStored)
	}
	if sent > wantSent {
		t.Errorf("a Sync allocates %d times, want %d", sent, wantSent)
	}
}

// BenchmarkNames measures what names add to a record.
func BenchmarkNames(b *testing.B) {
	r := newRig(b)
	for _, size := range []int{0, 20, 40, 100, 200} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			prefix := fmt.Sprintf("%s%d", r.prefix, size)
			p := &process{t: b, log: newLog(b, r.server.Client(), redislog.Config{Prefix: prefix, Names: size > 0})}
			const records = 10_000
			for i := range records {
				a, _ := namedTag(max(size, 20), i)
				p.sync(a)
				p.keys, p.scopes = nil, nil
			}
			n := r.server.Client().MemoryUsage(b.Context(), "{"+prefix+"}:s", 0).Val()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				a, _ := namedTag(max(size, 20), i)
				p.sync(a)
				p.keys, p.scopes = nil, nil
			}
			b.ReportMetric(float64(n)/records, "B/record")
		})
	}
}
