package logtest

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// No process appends during these tails: they find records that are already in the log.
func logTail(t *logTest) {
	writer := t.reader()
	empty := writer.at
	for i := range 3 {
		writer.append(bothAppend(i))
	}
	for _, at := range []invalidate.Cursor{
		{}, empty, {Key: empty.Key + 1, Scope: empty.Scope + 2},
		{Key: writer.at.Key, Scope: empty.Scope}, {Key: empty.Key, Scope: writer.at.Scope},
	} {
		late := writer.from(at)
		late.log = t.handle()
		late.tailTo(writer)
		late.wantAll()
	}
}

func logTailFollows(t *logTest) {
	const appends = 30
	writer, follower := t.reader(), t.reader()
	steps := make(chan struct{}, appends)
	t.atOnce([]*reader{writer, follower}, func(r *reader, _ int) error {
		if r == writer {
			for i := range appends {
				a := []invalidate.Append{keyAppend(i), tagAppend(i), bothAppend(i)}[i%3]
				t.appended(a)
				if _, err := r.trySync(a); err != nil {
					return err
				}
				if i%5 == 0 { // let the follower wait for the next append
					select {
					case <-steps:
					case <-time.After(patience):
					}
				}
			}
			return nil
		}
		for r.at.Key.N() < appends*2/3 || r.at.Scope.N() < appends*2/3 {
			if err := r.tail(); err != nil {
				return err
			}
			select {
			case steps <- struct{}{}:
			default:
			}
		}
		return nil
	})
	writer.wantAll()
	follower.wantAll()
}

// soon runs do, which must return within limit plus patience.
func (t *logTest) soon(limit time.Duration, do func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		do()
	}()
	select {
	case <-over:
	case <-time.After(limit + patience):
		t.Fatalf("the call is not over %v after its context", patience)
	}
}

// wantEmpty checks the result of a Tail that finds nothing: no record, and an error only when ctx
// has ended.
func (t *logTest) wantEmpty(ctx context.Context, page invalidate.Page, err error) {
	t.Helper()
	if err != nil && ctx.Err() == nil {
		t.Errorf("Tail of nothing = %v, want no error while its context lasts", err)
	}
	if len(page.Keys)+len(page.Scopes) > 0 {
		t.Errorf("Tail of nothing returns %+v and %+v", page.Keys, page.Scopes)
	}
}

// tailNothing calls Tail for at most d, at a cursor with nothing after it.
func (t *logTest) tailNothing(l invalidate.Log, at invalidate.Cursor, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	t.soon(d, func() {
		page, err := l.Tail(ctx, at)
		t.wantEmpty(ctx, page, err)
	})
}

func logTailNothing(t *logTest) {
	r := t.reader()
	r.append(bothAppend(1))
	t.tailNothing(r.log, r.at, 2*r.log.Bound())
	r.read()
}

// Only a Sync may start the first epoch.
func logTailFirst(t *logTest) {
	l := t.handle()
	t.tailNothing(l, invalidate.Cursor{}, l.Bound()/4)
	t.reader().wantAll()
}

func logTailContext(t *logTest) {
	r := t.reader()
	r.append(bothAppend(1))
	ctx, cancel := context.WithCancel(t.Context())
	start := time.Now()
	go cancel() // about when Tail starts to wait
	t.soon(0, func() {
		page, err := r.log.Tail(ctx, r.at)
		<-ctx.Done()
		t.wantEmpty(ctx, page, err)
	})
	if d := time.Since(start); t.bubble && d != 0 {
		t.Errorf("Tail ended %v after its context, want at once", d)
	}
	t.soon(0, func() {
		page, err := r.log.Tail(ctx, invalidate.Cursor{})
		if n := len(page.Keys) + len(page.Scopes); err == nil && n > 0 {
			t.Errorf("Tail of a context that has ended returns %d records and no error", n)
		}
	})
	r.read()
}

func logTailSlices(t *logTest) {
	writer, follower := t.reader(), t.reader()
	writer.append(bothAppend(1))
	follower.tailTo(writer)
	follower.scribble()
	writer.wantAll()
	t.reader().wantAll()
	again := &reader{t: t, log: follower.log}
	again.tailTo(writer)
	again.wantAll()
}

// bubbleTail checks that a Tail neither polls nor sleeps through an append.
func bubbleTail(t *logTest) {
	writer, follower := t.reader(), t.reader()
	for i, a := range []invalidate.Append{keyAppend(1), tagAppend(2)} {
		start := time.Now()
		over := make(chan error, 1)
		go func() { over <- follower.tail() }()
		synctest.Wait()
		if len(over) > 0 {
			t.Fatalf("Tail %d did not wait: %v", i, <-over)
		}
		writer.append(a)
		if err := <-over; err != nil || time.Since(start) != 0 {
			t.Fatalf("Tail %d = %v after %v, want the append at once", i, err, time.Since(start))
		}
		follower.wantAll()
	}
}
