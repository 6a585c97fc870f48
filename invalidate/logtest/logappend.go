package logtest

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func logBound(t *logTest) {
	l := t.handle()
	bound := l.Bound()
	if bound < invalidate.MinBound {
		t.Errorf("Bound = %v, want %v or more", bound, invalidate.MinBound)
	}
	r := &reader{t: t, log: l}
	r.sync(bothAppend(1))
	if got := l.Bound(); got != bound {
		t.Errorf("Bound after a Sync = %v, want %v as before", got, bound)
	}
}

func logFences(t *logTest) {
	a := invalidate.Append{
		Keys: []invalidate.Fence{
			{Kind: invalidate.KindKey, Hash: 0},
			{Kind: invalidate.KindKey, Hash: math.MaxUint64},
			{Kind: invalidate.KindKey, Hash: 1 << 63, Hold: time.Millisecond},
			{Kind: invalidate.KindKey, Hash: 7, Hold: 24 * time.Hour},
		},
		Scopes: []invalidate.Fence{
			{Kind: invalidate.KindPrefix, Hash: 0, Len: 2},
			{Kind: invalidate.KindPrefix, Hash: math.MaxUint64, Len: 1, Hold: 1500 * time.Millisecond},
			{Kind: invalidate.KindTag, Hash: math.MaxUint64},
			{Kind: invalidate.KindPrefix, Hash: 1 << 32, Len: key.MaxLen},
			{Kind: invalidate.KindTag, Hash: 0, Hold: time.Hour + time.Millisecond},
			{Kind: invalidate.KindAll, Hold: time.Second},
			{Kind: invalidate.KindKey, Hash: 9, Soft: true},
			{Kind: invalidate.KindPrefix, Hash: 10, Len: 3, Soft: true},
			{Kind: invalidate.KindPrefix, Hash: 12, Len: 3, Part: math.MaxUint16},
			{Kind: invalidate.KindPrefix, Hash: 13, Len: 3, Part: 1, Hold: time.Second},
			{Kind: invalidate.KindTag, Hash: 11, Soft: true},
			{Kind: invalidate.KindAll, Soft: true},
		},
	}
	writer, other := t.reader(), t.reader()
	writer.sync(a)
	other.sync(invalidate.Append{})
	for _, r := range []*reader{writer, other, t.reader()} {
		r.wantLast(a)
	}
}

// wantLast checks the last record of each sequence that a appended to.
func (r *reader) wantLast(a invalidate.Append) {
	r.t.Helper()
	if got := last(r.keys).Fences; len(a.Keys) > 0 && !slices.EqualFunc(got, a.Keys, carries) {
		r.t.Errorf("keys come back as\n%+v\nwant\n%+v", got, a.Keys)
	}
	if got := last(r.scopes).Fences; len(a.Scopes) > 0 && !slices.EqualFunc(got, a.Scopes, carries) {
		r.t.Errorf("scopes come back as\n%+v\nwant\n%+v", got, a.Scopes)
	}
}

func last(records []invalidate.Record) invalidate.Record {
	if len(records) == 0 {
		return invalidate.Record{}
	}
	return records[len(records)-1]
}

// fences returns n fences for each sequence.
func fences(n int) invalidate.Append {
	var a invalidate.Append
	for i := range n {
		a.Keys = append(a.Keys, invalidate.Fence{Kind: invalidate.KindKey, Hash: uint64(i) << 40})
		kind := invalidate.KindPrefix + invalidate.Kind(i%2)
		f := invalidate.Fence{Kind: kind, Hash: uint64(i), Hold: time.Duration(i) * time.Millisecond}
		if kind == invalidate.KindPrefix {
			f.Len = i % (key.MaxLen + 1)
		}
		a.Scopes = append(a.Scopes, f)
	}
	return a
}

func logMaxFences(t *logTest) {
	writer, a := t.reader(), fences(invalidate.MaxFences)
	writer.sync(a)
	writer.wantLast(a)
	t.reader().wantLast(a)
}

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
		r.wantNothing()
	}
}

func logOneSequence(t *logTest) {
	r := t.reader()
	before := r.at
	r.sync(keyAppend(1))
	if r.at.Scope != before.Scope || r.at.Key != before.Key+1 {
		t.Errorf("after keys only the scopes end with %s, want %s", spell(r.at.Scope), spell(before.Scope))
	}
	before = r.at
	r.sync(tagAppend(1))
	if r.at.Key != before.Key || r.at.Scope != before.Scope+1 {
		t.Errorf("after scopes only the keys end with %s, want %s", spell(r.at.Key), spell(before.Key))
	}
}

func logEmptyAppend(t *logTest) {
	r := t.reader()
	r.sync(bothAppend(1))
	for range 3 {
		r.wantNothing()
	}
	before := r.at
	r.sync(invalidate.Append{Keys: []invalidate.Fence{}, Scopes: []invalidate.Fence{}})
	if r.at != before {
		t.Error("a Sync of empty slices appended something, want nothing")
	}
}

func logResent(t *logTest) {
	r := t.reader()
	first, again := r.sync(bothAppend(1)), r.sync(bothAppend(1))
	if again.Key != first.Key+1 || again.Scope != first.Scope+1 {
		t.Errorf("an append sent again lands at %s and %s, want the positions after %s and %s",
			spell(again.Key), spell(again.Scope), spell(first.Key), spell(first.Scope))
	}
	r.wantLast(bothAppend(1))
	r.sync(bothAppend(2))
	r.wantLast(bothAppend(2))
}

func logSyncContext(t *logTest) {
	r := t.reader()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.log.Sync(ctx, r.at, bothAppend(1)); err == nil {
		t.Error("Sync of a context that has ended = nil, want an error")
	}
	r.wantNothing()
	t.reader().wantNothing()
}

// carries reports whether a log has returned the fence that was appended. It may lose the part: then
// more entries are compared with the fence.
func carries(got, want invalidate.Fence) bool {
	if got.Part == 0 {
		want.Part = 0
	}
	return got == want
}
