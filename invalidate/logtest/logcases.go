package logtest

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func logBound(t *logTest) {
	r := t.newReader()
	bound := r.log.Bound()
	if bound < invalidate.MinBound {
		t.Errorf("Bound = %v, want %v or more", bound, invalidate.MinBound)
	}
	r.append(bothAppend(1))
	if got := r.log.Bound(); got != bound {
		t.Errorf("Bound after a Sync = %v, want %v as before", got, bound)
	}
}

var everyFence = invalidate.Append{
	Keys: []invalidate.Fence{
		{Kind: invalidate.KindKey, Hash: 0},
		{Kind: invalidate.KindKey, Hash: math.MaxUint64},
		{Kind: invalidate.KindKey, Hash: 1 << 63},
		{Kind: invalidate.KindKey, Hash: 7},
	},
	Scopes: []invalidate.Fence{
		{Kind: invalidate.KindPrefix, Hash: 0, Len: 2},
		{Kind: invalidate.KindPrefix, Hash: math.MaxUint64, Len: 1},
		{Kind: invalidate.KindTag, Hash: math.MaxUint64},
		{Kind: invalidate.KindPrefix, Hash: 1 << 32, Len: key.MaxLen},
		{Kind: invalidate.KindTag, Hash: 0},
		{Kind: invalidate.KindAll},
		{Kind: invalidate.KindKey, Hash: 9, Soft: true},
		{Kind: invalidate.KindPrefix, Hash: 10, Len: 3, Soft: true},
		{Kind: invalidate.KindPrefix, Hash: 12, Len: 3, Part: math.MaxUint16},
		{Kind: invalidate.KindPrefix, Hash: 13, Len: 3, Part: 1},
		{Kind: invalidate.KindTag, Hash: 11, Soft: true},
		{Kind: invalidate.KindAll, Soft: true},
	},
}

// fences returns n fences for each sequence.
func fences(n int) invalidate.Append {
	var a invalidate.Append
	for i := range n {
		a.Keys = append(a.Keys, invalidate.Fence{Kind: invalidate.KindKey, Hash: uint64(i) << 40})
		kind := invalidate.KindPrefix + invalidate.Kind(i%2)
		f := invalidate.Fence{Kind: kind, Hash: uint64(i)}
		if kind == invalidate.KindPrefix {
			f.Len = i % (key.MaxLen + 1)
		}
		a.Scopes = append(a.Scopes, f)
	}
	return a
}

// named has names of any bytes, and names without a record.
var named = func() []invalidate.Append {
	all := []invalidate.Append{{Keys: keyAppend(9).Keys, KeyNames: "one", ScopeNames: "none"}}
	for i, names := range []string{
		"k\x05t:n:1", "", "\x00", "\xff\xfe, not UTF-8: \xc3\x28", "'; \"\\$1 ? %s \r\n{}", "", "é世界",
		strings.Repeat("\x00\xff", invalidate.MaxNames/2),
	} {
		a := bothAppend(i)
		a.KeyNames, a.ScopeNames = names, names
		if i%2 > 0 && names != "" {
			a.KeyNames = names[1:]
		}
		all = append(all, a)
	}
	return all
}()

// Neither sequence may take a record: a caller splits a refused append and sends it again, and must
// not append half of it twice.
func logTooMany(t *logTest) {
	r, a := t.reader(), fences(invalidate.MaxFences+1)
	for _, a := range []invalidate.Append{
		{Keys: a.Keys},
		{Scopes: a.Scopes},
		{Keys: a.Keys[:1], Scopes: a.Scopes},
		{Keys: a.Keys, Scopes: a.Scopes[:1]},
	} {
		if _, err := r.log.Sync(t.Context(), r.at, a); err == nil {
			t.Errorf("Sync of %d keys and %d scopes = nil, want an error: one record holds %d",
				len(a.Keys), len(a.Scopes), invalidate.MaxFences)
		}
		r.read()
	}
}

func logSyncContext(t *logTest) {
	r := t.reader()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.log.Sync(ctx, r.at, bothAppend(1)); err == nil {
		t.Error("Sync of a context that has ended = nil, want an error")
	}
	r.read()
	t.reader().wantAll()
}

func logsApart(t *logTest) {
	r := t.reader()
	r.append(bothAppend(1))
	other := (&logTest{T: t.T, open: t.another(t.T)}).reader()
	other.wantAll()
	other.append(bothAppend(2))
	r.read()
}

// atOnce runs do once for each reader, all at the same time.
func (t *logTest) atOnce(readers []*reader, do func(r *reader, i int) error) {
	t.Helper()
	errs := make([]error, len(readers))
	var wg sync.WaitGroup
	for i, r := range readers {
		wg.Go(func() { errs[i] = do(r, i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func logConcurrent(t *logTest) {
	const handles, appends = 6, 50
	var readers []*reader
	for range handles {
		readers = append(readers, t.newReader())
	}
	var appended sync.Map // by position according to Sync: the fence
	t.atOnce(readers, func(r *reader, i int) error {
		for n := i * appends; n < (i+1)*appends; n++ {
			page, err := r.trySync(bothAppend(n))
			if err != nil {
				return err
			}
			appended.Store(page.Key, uint64(n))
		}
		return nil
	})
	whole := t.reader()
	if len(whole.keys) != 1+handles*appends || len(whole.scopes) != 1+handles*appends {
		t.Fatalf("the log has %d keys and %d scopes, want a bump and %d", len(whole.keys), len(whole.scopes), handles*appends)
	}
	for _, rec := range whole.keys[1:] {
		if n, ok := appended.Load(rec.At); !ok || rec.Fences[0].Hash != n {
			t.Errorf("record %s is %+v, but Sync returned this position for number %v", spell(rec.At), rec.Fences, n)
		}
	}
	t.keys, t.scopes = whole.keys, whole.scopes // in any order
	for _, r := range readers {
		r.read()
	}
}

// Each sequence has its own position in the cursor: a caller may know keys up to one place and
// scopes up to another.
func logCursor(t *logTest) {
	r := t.reader()
	for i := range 5 {
		r.append(bothAppend(i))
	}
	r.append(keyAppend(5))
	for _, k := range append(r.keys, invalidate.Record{}) {
		for _, s := range append(r.scopes, invalidate.Record{}) {
			r.from(invalidate.Cursor{Key: k.At, Scope: s.At, KeyID: k.ID, ScopeID: s.ID}).read()
		}
	}
}

// The sequences differ in length, so one has fewer pages than the other.
func logPaging(t *logTest) {
	const appends = 2100
	writer := t.reader()
	for i := range appends {
		a := bothAppend(i)
		if i%3 == 0 {
			a.Scopes = nil
		}
		writer.append(a)
	}
	late := t.newReader()
	late.append(bothAppend(appends)) // comes at the end of the pages
	late.wantAll()
	writer.read()
}
