package logtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// reader follows a log from its start with one handle. It checks every page and keeps every record.
type reader struct {
	t            *logTest
	log          invalidate.Log
	at           invalidate.Cursor
	now          int64 // the log's clock in the last page that had it
	keys, scopes []invalidate.Record

	// Records of the log that come before the first ones of the reader.
	skipKeys, skipScopes int
}

// sync appends a, reads to the end of the log, and returns the first page.
func (r *reader) sync(a invalidate.Append) invalidate.Page {
	r.t.Helper()
	page, err := r.trySync(a)
	if err != nil {
		r.t.Fatal(err)
	}
	return page
}

// trySync is sync for goroutines, which must not end the test.
func (r *reader) trySync(a invalidate.Append) (first invalidate.Page, err error) {
	for n := 0; ; n++ {
		page, err := r.step(a)
		if err != nil {
			return first, err
		}
		if n == 0 {
			first = page
		}
		if !page.More {
			if page.End == (invalidate.Cursor{}) {
				return first, errors.New("page has no End")
			}
			return first, r.included(first)
		}
		if len(page.Keys)+len(page.Scopes) == 0 {
			return first, errors.New("page has More, and no record")
		}
		a = invalidate.Append{}
	}
}

// step runs one Sync, then checks and keeps its page.
func (r *reader) step(a invalidate.Append) (invalidate.Page, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	page, err := r.log.Sync(ctx, r.at, a)
	if err != nil {
		return page, fmt.Errorf("Sync = %w", err)
	}
	if (page.Key != 0) != (len(a.Keys) > 0) || (page.Scope != 0) != (len(a.Scopes) > 0) {
		return page, fmt.Errorf("Sync of %d keys and %d scopes says it appended %s and %s",
			len(a.Keys), len(a.Scopes), spell(page.Key), spell(page.Scope))
	}
	return page, r.take(page)
}

// tail calls Tail until it returns records, which tail checks and keeps.
func (r *reader) tail() error {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for {
		page, err := r.log.Tail(ctx, r.at)
		switch {
		case err != nil:
			return fmt.Errorf("Tail = %w", err)
		case ctx.Err() != nil:
			return fmt.Errorf("Tail found nothing after %s and %s in %v", spell(r.at.Key), spell(r.at.Scope), patience)
		case len(page.Keys)+len(page.Scopes) > 0:
			return r.take(page)
		}
		_ = fault.Sleep(ctx, time.Millisecond) // in a bubble, time passes only while every goroutine waits
	}
}

// included reports whether the records that a Sync appended were in the pages up to the end.
func (r *reader) included(page invalidate.Page) error {
	if page.Key > r.at.Key || page.Scope > r.at.Scope {
		return fmt.Errorf("Sync appended %s and %s, but the log ends with %s and %s",
			spell(page.Key), spell(page.Scope), spell(r.at.Key), spell(r.at.Scope))
	}
	return nil
}

// take checks a page and moves the cursor after it.
func (r *reader) take(page invalidate.Page) error {
	if page.Bound != 0 && page.Bound < r.log.Bound() {
		return fmt.Errorf("Page.Bound = %v, less than this handle's %v", page.Bound, r.log.Bound())
	}
	if page.Now != 0 && page.Now < r.now {
		return fmt.Errorf("Page.Now went back from %d to %d", r.now, page.Now)
	}
	r.now = max(r.now, page.Now)
	if slices.ContainsFunc(append(page.Keys, page.Scopes...), func(rec invalidate.Record) bool { return rec.Bump }) {
		r.at.Epoch = 0 // not known until both sequences are in one epoch
	}
	if err := follow(&r.at.Key, &r.at.KeyID, page.Keys, page.Now); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if err := follow(&r.at.Scope, &r.at.ScopeID, page.Scopes, page.Now); err != nil {
		return fmt.Errorf("scopes: %w", err)
	}
	if err := r.ended(page); err != nil {
		return err
	}
	r.keys, r.scopes = append(r.keys, page.Keys...), append(r.scopes, page.Scopes...)
	return nil
}

// syncAt syncs at any cursor, and does not follow the log from there.
func (r *reader) syncAt(at invalidate.Cursor, a invalidate.Append) invalidate.Page {
	r.t.Helper()
	page, err := r.log.Sync(r.t.Context(), at, a)
	if err != nil {
		r.t.Fatalf("Sync at %s and %s = %v", spell(at.Key), spell(at.Scope), err)
	}
	return page
}

// tailTo tails to the position of another reader. A reader that only tails does not know the epoch's
// id.
func (r *reader) tailTo(with *reader) {
	r.t.Helper()
	for r.at.Key != with.at.Key || r.at.Scope != with.at.Scope {
		if err := r.tail(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// ended checks the End of a page of Sync. A page of Tail has none.
func (r *reader) ended(page invalidate.Page) error {
	end := page.End
	if end == (invalidate.Cursor{}) {
		return nil
	}
	if end.Epoch == 0 || end.KeyID == 0 || end.ScopeID == 0 {
		return fmt.Errorf("Page.End = %+v, want every id", end)
	}
	if end.Key.Epoch() != end.Scope.Epoch() || end.Key < r.at.Key || end.Scope < r.at.Scope {
		return fmt.Errorf("Page.End = %+v, before the end of its page, %+v", end, r.at)
	}
	if (end.Key == r.at.Key && end.KeyID != r.at.KeyID) || (end.Scope == r.at.Scope && end.ScopeID != r.at.ScopeID) {
		return fmt.Errorf("Page.End = %+v, and the records there are %+v", end, r.at)
	}
	if !page.More {
		r.at.Epoch = end.Epoch
	}
	return nil
}

// follow moves at and id over records, which must come without a gap.
func follow(at *invalidate.Position, id *uint64, records []invalidate.Record, now int64) error {
	for _, rec := range records {
		switch {
		case rec.At <= *at:
			return fmt.Errorf("record %s comes after %s", spell(rec.At), spell(*at))
		case rec.Damaged:
			return fmt.Errorf("record %s is damaged", spell(rec.At))
		case rec.ID == 0 || rec.ID == *id:
			return fmt.Errorf("record %s: ID = %x after a record of ID %x", spell(rec.At), rec.ID, *id)
		case *id != 0 && rec.After != *id:
			return fmt.Errorf("record %s: After = %x, want the ID of the record before, %x", spell(rec.At), rec.After, *id)
		case rec.Bump && rec.Prev != *at:
			return fmt.Errorf("bump %s: Prev = %s, want %s", spell(rec.At), spell(rec.Prev), spell(*at))
		case !rec.Bump && (rec.At != *at+1 || rec.Prev != 0):
			return fmt.Errorf("record %s leaves a gap after %s, or has a Prev: %s", spell(rec.At), spell(*at), spell(rec.Prev))
		case now != 0 && rec.Time > now:
			return fmt.Errorf("record %s: Time = %d is in the future of Page.Now = %d", spell(rec.At), rec.Time, now)
		}
		*at, *id = rec.At, rec.ID
	}
	return nil
}

// spell formats a position as epoch and number.
func spell(p invalidate.Position) string { return fmt.Sprintf("%d-%d", p.Epoch(), p.N()) }

func keyAppend(n int) invalidate.Append {
	return invalidate.Append{Keys: []invalidate.Fence{{Scope: keyNamed(strconv.Itoa(n))}}}
}

// keyNamed returns a key with an id that key.Text would write.
func keyNamed(id string) invalidate.Scope {
	k, err := key.Space{Tenant: "s", Namespace: "n"}.Key(id)
	if err != nil {
		return invalidate.Invalid(err)
	}
	return invalidate.Key(k)
}

func tagAppend(n int) invalidate.Append {
	return invalidate.Append{Scopes: []invalidate.Fence{{Scope: invalidate.Tag("s", strconv.Itoa(n))}}}
}

func bothAppend(n int) invalidate.Append {
	return invalidate.Append{Keys: keyAppend(n).Keys, Scopes: tagAppend(n).Scopes}
}
