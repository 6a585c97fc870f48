package sqltier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/sqltier"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// follower reads a log with a handle of its own.
type follower struct {
	log *sqltier.Log
	at  invalidate.Cursor
}

func (f *follower) sync(t *testing.T, keys ...uint64) invalidate.Page {
	t.Helper()
	var a invalidate.Append
	for _, k := range keys {
		a.Keys = append(a.Keys, invalidate.Fence{Kind: invalidate.KindKey, Hash: k})
	}
	p, err := f.log.Sync(t.Context(), f.at, a)
	if err != nil {
		t.Fatalf("Sync = %v", err)
	}
	if n := len(p.Keys); n > 0 {
		f.at.Key, f.at.KeyID = p.Keys[n-1].At, p.Keys[n-1].ID
	}
	if n := len(p.Scopes); n > 0 {
		f.at.Scope, f.at.ScopeID = p.Scopes[n-1].At, p.Scopes[n-1].ID
	}
	f.at.Epoch = p.End.Epoch
	return p
}

func exec(t *testing.T, s *store.Store, query string, args ...any) {
	t.Helper()
	writer, _ := s.Pools()
	if _, err := writer.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// What somebody does to the file behind our backs starts a new epoch, in which every
// process gives up what it knows.
func TestLogThatLostItsEnd(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, s *store.Store, other *follower)
	}{
		{"set back to a backup", func(t *testing.T, s *store.Store, _ *follower) {
			exec(t, s, `DELETE FROM invalidation_log WHERE seq = 1 AND n > 1`)
			exec(t, s, `UPDATE invalidation_meta SET key_n = 1`)
		}},
		{"set back to a backup, and as long again since", func(t *testing.T, s *store.Store, other *follower) {
			exec(t, s, `DELETE FROM invalidation_log WHERE seq = 1 AND n > 1`)
			exec(t, s, `UPDATE invalidation_meta SET key_n = 1`)
			other.sync(t, 8)
			other.sync(t, 9)
		}},
		{"records deleted", func(t *testing.T, s *store.Store, _ *follower) {
			exec(t, s, `DELETE FROM invalidation_log`)
		}},
		{"notes deleted", func(t *testing.T, s *store.Store, _ *follower) {
			exec(t, s, `DELETE FROM invalidation_meta`)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := database(t)
			s := open(t, path)
			f := &follower{log: sqltier.NewLog(on(s), sqltier.LogConfig{})}
			f.sync(t)
			for k := range uint64(3) {
				f.sync(t, k)
			}
			before := f.at
			tt.damage(t, s, &follower{log: sqltier.NewLog(on(open(t, path)), sqltier.LogConfig{})})
			p := f.sync(t)
			if len(p.Keys) == 0 || !p.Keys[0].Bump || p.Keys[0].At.Epoch() <= before.Key.Epoch() {
				t.Errorf("the next Sync brings %+v, want the bump of an epoch behind %d", p.Keys, before.Key.Epoch())
			}
			if p := f.sync(t); len(p.Keys)+len(p.Scopes) > 0 {
				t.Errorf("one more Sync brings %+v and %+v, want nothing", p.Keys, p.Scopes)
			}
		})
	}
}

func TestLogRetention(t *testing.T) {
	s := open(t, database(t))
	const retain = 100
	f := &follower{log: sqltier.NewLog(on(s), sqltier.LogConfig{Retain: retain})}
	f.sync(t)
	start := f.at
	for k := range uint64(600) {
		f.sync(t, k)
	}
	writer, _ := s.Pools()
	var kept, first int
	if err := writer.QueryRowContext(t.Context(), `SELECT count(*), min(n) FROM invalidation_log WHERE seq = 1`).Scan(&kept, &first); err != nil {
		t.Fatal(err)
	}
	if kept < retain || kept > retain+300 || first == 0 {
		t.Errorf("%d records are kept, from number %d; want about %d of the newest", kept, first, retain)
	}
	late := &follower{log: f.log, at: start}
	if p := late.sync(t); len(p.Keys) == 0 || p.Keys[0].At == start.Key+1 {
		t.Error("a reader that was away for too long sees no gap")
	}
}

func TestDamagedRecord(t *testing.T) {
	s := open(t, database(t))
	f := &follower{log: sqltier.NewLog(on(s), sqltier.LogConfig{})}
	f.sync(t, 1)
	for _, payload := range [][]byte{nil, {1}, make([]byte, 15), make([]byte, 30)} {
		exec(t, s, `UPDATE invalidation_log SET payload = ? WHERE seq = 1 AND n = 1`, append([]byte{}, payload...))
		late := &follower{log: sqltier.NewLog(on(s), sqltier.LogConfig{})}
		p := late.sync(t)
		if len(p.Keys) != 2 || !p.Keys[1].Damaged || len(p.Keys[1].Fences) > 0 {
			t.Errorf("payload %x reads as %+v, want a damaged record", payload, p.Keys)
		}
	}
}

// Removing cells and saying so is one step: there is nothing in between to crash in.
func TestSyncRemoving(t *testing.T) {
	path := database(t)
	one, other := on(open(t, path)), on(open(t, path))
	log := sqltier.NewLog(one, sqltier.LogConfig{})
	claim := tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute}
	for _, key := range []string{"a", "b"} {
		if got, err := one.Claim(t.Context(), key, claim); err != nil || !got.Granted {
			t.Fatalf("Claim = %v, %v", got, err)
		}
	}
	server, names := one.Names([]string{"a"})
	if elsewhere, _ := other.Names(nil); !log.RemovesFrom(server) || log.RemovesFrom(elsewhere) || log.RemovesFrom(nil) {
		t.Error("RemovesFrom does not know the log's own file from others")
	}
	p, err := log.SyncRemoving(t.Context(), invalidate.Cursor{}, invalidate.Append{Keys: []invalidate.Fence{{Kind: invalidate.KindKey, Hash: 7}}}, names)
	if err != nil || p.Key == 0 {
		t.Fatalf("SyncRemoving = %+v, %v", p, err)
	}
	for key, want := range map[string]bool{"a": false, "b": true} {
		if frame, err := other.Get(t.Context(), key); err != nil || (frame != nil) != want {
			t.Errorf("%s: %x, %v; want it there: %v", key, frame, err, want)
		}
	}
	// What cannot be appended removes nothing.
	bad := invalidate.Append{Keys: []invalidate.Fence{{Kind: invalidate.KindTag}}}
	if _, err := log.SyncRemoving(t.Context(), invalidate.Cursor{}, bad, []string{"b"}); !errors.Is(err, sqltier.ErrAppend) {
		t.Errorf("SyncRemoving of a tag among keys = %v, want %v", err, sqltier.ErrAppend)
	}
	if frame, err := other.Get(t.Context(), "b"); err != nil || frame == nil {
		t.Errorf("after a refused append: %x, %v; want the cell", frame, err)
	}
}

func TestLogRefuses(t *testing.T) {
	f := &follower{log: sqltier.NewLog(on(open(t, database(t))), sqltier.LogConfig{})}
	f.sync(t)
	for name, a := range map[string]invalidate.Append{
		"a key among scopes":     {Scopes: []invalidate.Fence{{Kind: invalidate.KindKey}}},
		"no kind":                {Keys: []invalidate.Fence{{}}},
		"a tag with a length":    {Scopes: []invalidate.Fence{{Kind: invalidate.KindTag, Len: 1}}},
		"a prefix of no length":  {Scopes: []invalidate.Fence{{Kind: invalidate.KindPrefix, Len: -1}}},
		"a prefix of any length": {Scopes: []invalidate.Fence{{Kind: invalidate.KindPrefix, Len: 1 << 16}}},
		"a hold into the past":   {Keys: []invalidate.Fence{{Kind: invalidate.KindKey, Hold: -1}}},
		"a hold of a century":    {Keys: []invalidate.Fence{{Kind: invalidate.KindKey, Hold: 100 * 365 * 24 * time.Hour}}},
	} {
		if _, err := f.log.Sync(t.Context(), f.at, a); !errors.Is(err, sqltier.ErrAppend) {
			t.Errorf("%s: Sync = %v, want %v", name, err, sqltier.ErrAppend)
		}
	}
	last := invalidate.Cursor{Key: invalidate.At(1<<32-1, 0)}
	if _, err := f.log.Sync(t.Context(), last, invalidate.Append{}); !errors.Is(err, sqltier.ErrEpochs) {
		t.Errorf("Sync behind the last epoch = %v, want %v", err, sqltier.ErrEpochs)
	}
}

// A lease must not wait for a long write of somebody else.
func TestRenewalDoesNotWaitForWriters(t *testing.T) {
	s := open(t, database(t))
	f := &follower{log: sqltier.NewLog(on(s), sqltier.LogConfig{})}
	f.sync(t)
	err := s.Write(t.Context(), func(*store.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := f.log.Sync(ctx, f.at, invalidate.Append{})
		return err
	})
	if err != nil {
		t.Errorf("Sync beside a write = %v", err)
	}
}
