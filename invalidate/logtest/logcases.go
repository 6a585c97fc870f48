package logtest

import (
	"context"
	"errors"
	"strconv"
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

var everyFence = func() (a invalidate.Append) {
	long := strings.Repeat("x", key.MaxLen-len("s:n:"))
	for _, id := range []string{"0", "-1", long, "%0A%20%25%FF", `\\n"'$1?;`, "é世界", "k~", "e\u0301"} {
		a.Keys = append(a.Keys, invalidate.Fence{Scope: keyNamed(id)})
		a.Scopes = append(a.Scopes, invalidate.Fence{Scope: keyNamed(id), Soft: true})
	}
	for _, s := range []invalidate.Scope{
		invalidate.All(), invalidate.Tenant("s"), invalidate.Tenant(strings.Repeat("é", 500)), invalidate.Prefix("s", "n:"),
		invalidate.Prefix("s", "n:"+long), invalidate.Prefix("s", "n:caf\xc3"), invalidate.Prefix("s", "\n\r\n\x00\x7f\\x00\xff:"),
		invalidate.Tag("s", "n"), invalidate.Tag("S", "n"), invalidate.Tag("s", "n "), invalidate.Tag("s", ":n::"), invalidate.Tag("s", strings.Repeat("x", invalidate.MaxTagLen)),
		invalidate.Tag("s", "a\x00b\nc\td\\e\\x0a"), invalidate.Tag("s", "'; -- \"%s\" {}"), invalidate.Tag("s\xff", "é世界"), invalidate.Tag("s", "e\u0301"),
	} {
		a.Scopes = append(a.Scopes, invalidate.Fence{Scope: s}, invalidate.Fence{Scope: s, Soft: true})
	}
	return a
}()

// fences returns n fences for each sequence.
func fences(n int) invalidate.Append {
	var a invalidate.Append
	for i := range n {
		id := strconv.Itoa(i)
		a.Keys = append(a.Keys, invalidate.Fence{Scope: keyNamed(id)})
		s := invalidate.Prefix("s", id)
		if i%2 > 0 {
			s = invalidate.Tag("s", id)
		}
		a.Scopes = append(a.Scopes, invalidate.Fence{Scope: s})
	}
	return a
}

// texts returns fences for each sequence whose texts have n bytes together. A log may have to escape
// many of them.
func texts(n int) invalidate.Append {
	var a invalidate.Append
	for ; n > 0; n -= key.MaxLen {
		size := min(n, key.MaxLen)
		a.Keys = append(a.Keys, invalidate.Fence{Scope: keyNamed(strings.Repeat("x", max(size-len("s:n:"), 1)))})
		a.Scopes = append(a.Scopes, invalidate.Fence{Scope: invalidate.Prefix("s", strings.Repeat("\x00", max(size-len("s:"), 1)))})
	}
	return a
}

// Neither sequence may take a record: a caller splits a refused append and sends it again, and must
// not append half of it twice.
func logTooMany(t *logTest) {
	r := t.reader()
	for _, much := range []invalidate.Append{fences(invalidate.MaxFences + 1), texts(invalidate.MaxText + 1)} {
		for _, a := range []invalidate.Append{
			{Keys: much.Keys},
			{Scopes: much.Scopes},
			{Keys: much.Keys[:1], Scopes: much.Scopes},
			{Keys: much.Keys, Scopes: much.Scopes[:1]},
		} {
			if _, err := r.log.Sync(t.Context(), r.at, a); err == nil {
				t.Errorf("Sync of %d keys and %d scopes = nil, want an error: one record holds %d, of %d bytes",
					len(a.Keys), len(a.Scopes), invalidate.MaxFences, invalidate.MaxText)
			}
			r.read()
		}
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
			appended.Store(page.Key, keyAppend(n).Keys[0])
		}
		return nil
	})
	whole := t.reader()
	if len(whole.keys) != 1+handles*appends || len(whole.scopes) != 1+handles*appends {
		t.Fatalf("the log has %d keys and %d scopes, want a bump and %d", len(whole.keys), len(whole.scopes), handles*appends)
	}
	for _, rec := range whole.keys[1:] {
		if n, ok := appended.Load(rec.At); !ok || rec.Fences[0] != n {
			t.Errorf("record %s is %+v, but Sync returned this position for %v", spell(rec.At), rec.Fences, n)
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
