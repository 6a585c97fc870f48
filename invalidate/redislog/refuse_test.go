package redislog_test

import (
	"context"
	"errors"
	"fmt"
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
	key := func(change func(*invalidate.Fence)) invalidate.Append {
		a := both(7)
		change(&a.Keys[0])
		return a
	}
	for name, a := range map[string]invalidate.Append{
		"a tag among keys":   key(func(f *invalidate.Fence) { f.Kind = invalidate.KindTag }),
		"a key among scopes": {Scopes: both(1).Keys},
		"no kind":            key(func(f *invalidate.Fence) { f.Kind = 0 }),
		"an unknown kind":    key(func(f *invalidate.Fence) { f.Kind = 77 }),
		"a negative length":  key(func(f *invalidate.Fence) { f.Len = -1 }),
		"a length of a key":  key(func(f *invalidate.Fence) { f.Len = 1 }),
		"too many":           {Keys: make([]invalidate.Fence, invalidate.MaxFences+1)},
	} {
		_, err := p.trySync(a)
		if !errors.Is(err, redislog.ErrAppend) || !strings.HasPrefix(err.Error(), "redislog: sync: bad append: ") {
			t.Errorf("%s: Sync = %v, want %v", name, err, redislog.ErrAppend)
		}
	}
	p.wantQuiet()
}
