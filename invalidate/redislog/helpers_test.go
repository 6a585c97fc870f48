package redislog_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/key"
)

// process is one process that follows a log: the records that it has read, and its cursor.
type process struct {
	t            testing.TB
	log          *redislog.Log
	at           invalidate.Cursor
	keys, scopes []invalidate.Record
}

// rig is a log on its own server, and its keys there.
type rig struct {
	t       testing.TB
	server  *redistest.Server
	prefix  string
	m, k, s string
}

func newRig(t testing.TB, opts ...redistest.Option) *rig {
	t.Helper()
	return rigOn(t, redistest.Start(t, opts...))
}

func rigOn(t testing.TB, s *redistest.Server) *rig {
	p := redistest.Prefix()
	return &rig{t: t, server: s, prefix: p, m: "{" + p + "}:m", k: "{" + p + "}:k", s: "{" + p + "}:s"}
}

// open returns a process whose calls may take seconds, as on a busy machine.
func (r *rig) open(rdb redis.UniversalClient) *process {
	r.t.Helper()
	return r.openBounded(rdb, 10*time.Second)
}

func (r *rig) openBounded(rdb redis.UniversalClient, bound time.Duration) *process {
	r.t.Helper()
	return &process{t: r.t, log: newLog(r.t, rdb, redislog.Config{Prefix: r.prefix, Bound: bound})}
}

func (r *rig) process() *process {
	r.t.Helper()
	return r.open(r.server.Client())
}

// started returns a process that has appended n records to each sequence.
func (r *rig) started(n int) *process {
	r.t.Helper()
	p := r.process()
	for i := range n {
		p.sync(both(uint64(i)))
	}
	return p
}

func (r *rig) do(args ...any) any {
	r.t.Helper()
	return r.server.Do(r.t, args...)
}

func both(n uint64) invalidate.Append {
	return invalidate.Append{
		Keys:   []invalidate.Fence{{Scope: keyOf(fmt.Sprint(n))}},
		Scopes: []invalidate.Fence{{Scope: invalidate.Tag("t", fmt.Sprint(n))}},
	}
}

// keyOf returns a key by its id.
func keyOf(id string) invalidate.Scope {
	k, _ := key.Parse("t:n:" + id) // is valid
	return invalidate.Key(k)
}

// sync appends a, reads on to the end of the log and returns the first page.
func (p *process) sync(a invalidate.Append) invalidate.Page {
	p.t.Helper()
	first, err := p.trySync(a)
	if err != nil {
		p.t.Fatalf("Sync = %v", err)
	}
	return first
}

func (p *process) trySync(a invalidate.Append) (first invalidate.Page, err error) {
	for i := 0; ; i++ {
		page, err := p.log.Sync(p.t.Context(), p.at, a)
		if err != nil {
			return first, err
		}
		if i == 0 {
			first, a = page, invalidate.Append{}
		}
		p.take(page)
		if !page.More {
			return first, nil
		}
	}
}

func (p *process) take(page invalidate.Page) {
	for _, r := range page.Keys {
		if r.At > p.at.Key {
			p.at.Key, p.at.KeyID = r.At, r.ID
		}
	}
	for _, r := range page.Scopes {
		if r.At > p.at.Scope {
			p.at.Scope, p.at.ScopeID = r.At, r.ID
		}
	}
	p.at.Epoch = 0
	if !page.More {
		p.at.Epoch = page.End.Epoch
	}
	p.keys, p.scopes = append(p.keys, page.Keys...), append(p.scopes, page.Scopes...)
}

// news syncs and returns the new records of each sequence.
func (p *process) news() (keys, scopes []invalidate.Record) {
	p.t.Helper()
	k, s := len(p.keys), len(p.scopes)
	p.sync(invalidate.Append{})
	return p.keys[k:], p.scopes[s:]
}

// wantBump checks that the log starts exactly one new epoch for a process that knew the one before.
func (p *process) wantBump() {
	p.t.Helper()
	before := p.at
	keys, scopes := p.news()
	if len(keys) == 0 || !keys[len(keys)-1].Bump || len(scopes) == 0 || !scopes[len(scopes)-1].Bump {
		p.t.Fatalf("at %v: read %v and %v, want a bump last in both", before, keys, scopes)
	}
	if p.at.Key.Epoch() <= before.Key.Epoch() || p.at.Key != p.at.Scope || p.at.Key.N() != 0 {
		p.t.Errorf("the epoch after %v starts at %v, want a higher one, and the same place in both", before, p.at)
	}
	p.wantQuiet()
}

// wantQuiet checks that there are no new records.
func (p *process) wantQuiet() {
	p.t.Helper()
	if keys, scopes := p.news(); len(keys)+len(scopes) > 0 {
		p.t.Errorf("read %v and %v, want nothing new", keys, scopes)
	}
}

// gap returns the first place where records do not follow each other.
func gap(records []invalidate.Record) error {
	for i, r := range records {
		if i > 0 && (r.After != records[i-1].ID || r.At != records[i-1].At+1 && (!r.Bump || r.Prev != records[i-1].At)) {
			return fmt.Errorf("record %d: %d-%d after %d-%d", i,
				r.At.Epoch(), r.At.N(), records[i-1].At.Epoch(), records[i-1].At.N())
		}
	}
	return nil
}

// wantDense checks that the process has missed no record, and that the records of both with these
// numbers are among them, in any order.
func wantDense(t testing.TB, name string, records []invalidate.Record, numbers map[uint64]bool) {
	t.Helper()
	if err := gap(records); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	missing := map[uint64]bool{}
	for h := range numbers {
		missing[h] = true
	}
	for _, r := range records {
		for _, f := range r.Fences {
			n, _ := strconv.ParseUint(strings.TrimPrefix(f.Scope.Text(), "t:n:"), 10, 64)
			delete(missing, n)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%s: %d of %d records are lost", name, len(missing), len(numbers))
	}
}
