package cache_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// noting is a connection that notes the command that each write begins with. The log's own client
// has no hooks, but uses the dialer.
type noting struct {
	net.Conn
	sent *sent
}

func (w noting) Write(b []byte) (int, error) {
	if parts := bytes.SplitN(b, []byte("\r\n"), 4); len(parts) == 4 && !bytes.EqualFold(parts[2], []byte("xread")) {
		w.sent.note(string(bytes.ToLower(parts[2])))
	}
	return w.Conn.Write(b)
}

// wired returns a client whose connections note what they send, and those of clients made from it.
func wired(t *testing.T, s *redistest.Server, sent *sent) *redis.Client {
	o := *s.Client().Options()
	dialer := net.Dialer{}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		return noting{c, sent}, err
	}
	rdb := redis.NewClient(&o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// A Set whose cell is on the log's server is one command: it claims the cell, appends the record and
// stores the value.
func TestRoundTripsOfASet(t *testing.T) {
	server, prefix, sent := redistest.Start(t), redistest.Prefix(), &sent{}
	rdb := wired(t, server, sent)
	ctx := t.Context()
	process := func() cache.Cache[int, string] {
		tiers := open(t, cache.TiersConfig{
			Remote: redistier.New(rdb, redistier.Config{Prefix: prefix}),
			Log:    redislog.New(rdb, redislog.Config{Prefix: prefix, Bound: time.Minute}), // it is asked every 15 s
		})
		must(t, tiers.Ready(ctx))
		return with(t, tiers, cache.Config[int, string]{})
	}
	a, b := process(), process()
	if err := a.Set(ctx, 0, "v"); err != nil { // the server learns the scripts
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, value string
	}{{"a new key", "v1"}, {"a key that has a value", "v2"}, {"again", "v3"}} {
		sent.take()
		succeeds(t, a.Set(ctx, 1, tt.value))
		equal(t, sent.take(), "evalsha", "a Set of %s sends", tt.name)
		if r, err := a.Fetch(ctx, 1, nil); err != nil || r.Value != tt.value || r.Source != cache.Local {
			t.Errorf("%s: this process reads %+v, %v; want %q from the local tier", tt.name, r, err, tt.value)
		}
		redistest.Eventually(t, "another process reads it", func(ctx context.Context) error {
			v, err := b.Get(ctx, 1)
			if err == nil && v != tt.value {
				err = errors.New("it reads " + v)
			}
			return err
		})
	}
}

// between is a log that calls f in place of each step that stores, with the step. It has no field with
// a log: then it would be a wrapper, which gets no such steps.
type between struct {
	log func() *redislog.Log
	f   func(step func() error) error
}

func (b *between) Bound() time.Duration        { return b.log().Bound() }
func (b *between) Close() error                { return b.log().Close() }
func (b *between) RemovesFrom(server any) bool { return b.log().RemovesFrom(server) }

func (b *between) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	return b.log().Sync(ctx, at, a)
}

func (b *between) SyncRemoving(ctx context.Context, at invalidate.Cursor, a invalidate.Append, cells []string) (invalidate.Page, error) {
	return b.log().SyncRemoving(ctx, at, a, cells)
}

func (b *between) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	return b.log().Tail(ctx, at)
}

func (b *between) SyncStoring(ctx context.Context, at invalidate.Cursor, a invalidate.Append, s *logwire.Storing) (p invalidate.Page, how logwire.Stored, err error) {
	step := func() error {
		p, how, err = b.log().SyncStoring(ctx, at, a, s)
		return err
	}
	if b.f == nil {
		return p, how, step()
	}
	err = b.f(step)
	return p, how, err
}

// onOne is two processes whose cells and log are on one Redis. The first one's steps can be changed.
type onOne struct {
	rdb   *redis.Client
	steps *between
	tiers [2]*cache.Tiers
	c     [2]cache.Cache[int, string]
	cell  string // of key 1
}

func openOnOne(t *testing.T, wrap func(tier.Remote) tier.Remote) *onOne {
	rdb, prefix := redistest.Start(t).Client(), redistest.Prefix()
	w := &onOne{rdb: rdb, cell: prefix + ":v:default:things:1"}
	var far tier.Remote
	for i := range w.c {
		far = wrap(redistier.New(rdb, redistier.Config{Prefix: prefix}))
		log := redislog.New(rdb, redislog.Config{Prefix: prefix, Bound: time.Minute}) // a Sync, every 15 s, would keep a step off
		steps := &between{log: func() *redislog.Log { return log }}
		if i == 0 {
			w.steps = steps
		}
		w.tiers[i] = open(t, cache.TiersConfig{Remote: far, Log: steps})
		must(t, w.tiers[i].Ready(t.Context()))
		w.c[i] = with(t, w.tiers[i], cache.Config[int, string]{Namespace: "things", Policy: slow})
	}
	if _, plain := far.(*redistier.Tier); plain {
		w.rest(t)
	}
	return w
}

// rest waits until the first process asks the log nothing more, as after its begin. While it does, a Set
// goes step by step.
func (w *onOne) rest(t *testing.T) {
	t.Helper()
	redistest.Eventually(t, "a Set goes in one step", func(ctx context.Context) error {
		stepped := false
		w.steps.f = func(step func() error) error { stepped = true; return step() }
		err := w.c[0].Set(ctx, 100, "v")
		if w.steps.f = nil; err == nil && !stepped {
			err = errors.New("it goes step by step")
		}
		return err
	})
}

// slow is for machines that are busy with other tests.
var slow = policy.Patch{RemoteTimeout: new(500 * time.Millisecond)}

func asItIs(r tier.Remote) tier.Remote { return r }

// want waits until a process reads the value, or none if it is empty.
func (w *onOne) want(t *testing.T, process int, value string) {
	t.Helper()
	redistest.Eventually(t, fmt.Sprintf("process %d reads %q", process, value), func(ctx context.Context) error {
		v, err := w.c[process].Get(ctx, 1)
		if err == nil && v != value || err != nil && (value != "" || !errors.Is(err, cache.ErrMiss)) {
			return fmt.Errorf("it reads %q, %w", v, err)
		}
		return nil
	})
}

// counting is a wrapper of a remote tier that counts fills.
type counting struct {
	tier.Remote
	fills atomic.Int64
}

func (c *counting) Unwrap() tier.Remote { return c.Remote }

func (c *counting) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	c.fills.Add(1)
	return c.Remote.Fill(ctx, key, f)
}

// The step is not for a tier with a wrapper, which must see each fill, nor for a large value, which
// would hold up the log.
func TestSetStepByStep(t *testing.T) {
	for name, tt := range map[string]struct {
		size int
		wrap func(tier.Remote) tier.Remote
		once bool
	}{
		"small":     {100, asItIs, true},
		"large":     {100_000, asItIs, false},
		"a wrapper": {100, func(r tier.Remote) tier.Remote { return &counting{Remote: r} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, once := openOnOne(t, tt.wrap), false
			w.steps.f = func(step func() error) error { once = true; return step() }
			noise := make([]byte, tt.size) // it cannot be compressed
			_, _ = rand.Read(noise)
			value := hex.EncodeToString(noise)
			if err := w.c[0].Set(t.Context(), 1, value); err != nil || once != tt.once {
				t.Errorf("Set = %v, in one step: %v, want %v", err, once, tt.once)
			}
			w.want(t, 1, value)
		})
	}
}
