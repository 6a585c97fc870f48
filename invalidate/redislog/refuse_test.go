package redislog_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// A replica answers reads, but must not renew a lease.
func TestReplica(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinel(t)
	r := rigOn(t, g.Master)
	p := r.started(1)
	replica := r.open(g.Replica.Client())
	redistest.Eventually(t, "the record does not reach the replica", func(ctx context.Context) error {
		page, err := replica.log.Tail(ctx, invalidate.Cursor{})
		if err == nil && len(page.Keys) < len(p.keys) {
			err = errors.New("nothing there yet")
		}
		return err
	})
	if _, err := replica.trySync(invalidate.Append{}); !redis.IsReadOnlyError(err) {
		t.Errorf("Sync = %v, want READONLY", err)
	}
}

// A primary without replicas may have been deposed.
func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--min-replicas-to-write", "0"))
	rdb := r.server.Client()
	p := r.started(1)
	r.do("SET", "k", "v")
	r.do("CONFIG", "SET", "min-replicas-to-write", 1)
	if err := rdb.Get(t.Context(), "k").Err(); err != nil {
		t.Errorf("GET = %v, want nil", err)
	}
	for _, a := range []invalidate.Append{{}, both(2)} {
		if _, err := p.trySync(a); !redis.IsNoReplicasError(err) {
			t.Errorf("Sync = %v, want NOREPLICAS", err)
		}
	}
	r.do("CONFIG", "SET", "min-replicas-to-write", 0)
	p.wantQuiet()
}

func TestFullServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--maxmemory", "100mb", "--maxmemory-policy", "noeviction"))
	p := r.started(1)
	r.do("CONFIG", "SET", "maxmemory", "1mb") // less than an empty server takes
	for _, a := range []invalidate.Append{{}, both(2)} {
		if _, err := p.trySync(a); !redis.IsOOMError(err) {
			t.Errorf("Sync = %v, want OOM", err)
		}
	}
	if _, err := p.log.Tail(t.Context(), invalidate.Cursor{}); err != nil {
		t.Errorf("Tail = %v, want nil", err)
	}
	r.do("CONFIG", "SET", "maxmemory", "100mb")
	p.wantQuiet()
}

func TestWrongType(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, key := range []string{r.m, r.k, r.s} {
		p := r.started(1)
		r.do("SET", key, "not ours")
		_, err := p.trySync(both(2))
		if !errors.Is(err, redislog.ErrKeyType) || !redis.HasErrorPrefix(err, "WRONGTYPE") {
			t.Errorf("Sync with a string at %s = %v, want ErrKeyType and WRONGTYPE", key, err)
		}
		for _, want := range []string{fmt.Sprintf("the hash %q, streams %q and %q", r.m, r.k, r.s), "another Prefix", "delete the key"} {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "script") {
				t.Errorf("Sync with a string at %s = %v, want %q and no script", key, err, want)
			}
		}
		if got := r.do("GET", key); got != "not ours" {
			t.Errorf("%s = %v, want it untouched", key, got)
		}
		r.do("DEL", key)
		p.wantBump()
	}
}

func TestBadAppends(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(1)
	for name, a := range map[string]invalidate.Append{
		"a tag among keys":   {Keys: both(1).Scopes},
		"a key among scopes": {Scopes: both(1).Keys},
		"no scope":           {Keys: both(1).Keys, Scopes: make([]invalidate.Fence, 1)},
		"an invalid scope":   {Keys: both(1).Keys, Scopes: []invalidate.Fence{{Scope: invalidate.Tag("t", "")}}},
		"too many":           {Keys: slices.Repeat(both(1).Keys, invalidate.MaxFences+1)},
		"too much text":      {Keys: slices.Repeat([]invalidate.Fence{{Scope: keyOf(strings.Repeat("x", 1000))}}, 1100)},
	} {
		_, err := p.trySync(a)
		if !errors.Is(err, redislog.ErrAppend) || !strings.HasPrefix(err.Error(), "redislog: sync: bad append: ") {
			t.Errorf("%s: Sync = %v, want %v", name, err, redislog.ErrAppend)
		}
	}
	p.wantQuiet()
}

// A log of another version is left as it is.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.server.Client()
	for name, change := range map[string]func(){
		"an older one":       func() { r.do("HDEL", r.m, "v") },
		"the one before":     func() { r.do("HSET", r.m, "v", "2") },
		"a later one":        func() { r.do("HSET", r.m, "v", "4") },
		"something unlikely": func() { r.do("HSET", r.m, "v", strings.Repeat("secret", 1000)) },
	} {
		r.do("DEL", r.m, r.k, r.s)
		p := r.started(1)
		change()
		r.do("SET", "c", "cell")
		before := rdb.HGetAll(t.Context(), r.m).Val()
		a := both(2)
		_, plain := p.trySync(invalidate.Append{})
		_, removing := p.trySync(invalidate.Append{Keys: a.Keys, Remove: []string{"c"}})
		s, _, _ := storing(1)
		_, stores := p.trySync(invalidate.Append{Keys: a.Keys, Store: s})
		_, fresh := r.process().trySync(a)
		for _, err := range []error{plain, removing, stores, fresh} {
			if !errors.Is(err, redislog.ErrVersion) || len(err.Error()) > 300 {
				t.Errorf("%s: %v, want a short ErrVersion", name, err)
			}
			for _, want := range []string{`want "3"`, fmt.Sprintf("delete %q, %q and %q", r.m, r.k, r.s), "another Prefix"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", name, err, want)
				}
			}
		}
		if after := rdb.HGetAll(t.Context(), r.m).Val(); !maps.Equal(before, after) || rdb.XLen(t.Context(), r.k).Val() != 2 || r.do("GET", "c") != "cell" {
			t.Errorf("%s: %v has become %v, with %d records of keys", name, before, after, rdb.XLen(t.Context(), r.k).Val())
		}
	}
	r.do("DEL", r.m, r.k, r.s)
	r.started(1)
}
