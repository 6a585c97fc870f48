package cache_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// sent notes what clients send, a word for each write to a connection: the command that it begins with.
type sent struct {
	mu    sync.Mutex
	words []string
}

func (s *sent) note(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains([]string{"hello", "client", "xread"}, word) {
		s.words = append(s.words, word)
	}
}

func (s *sent) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := strings.Join(s.words, " ")
	s.words = nil
	return words
}

// noting is a connection that notes. The log's own client has no hooks, but uses the dialer.
type noting struct {
	net.Conn
	sent *sent
}

func (w noting) Write(b []byte) (int, error) {
	if parts := bytes.SplitN(b, []byte("\r\n"), 4); len(parts) == 4 {
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

// patient makes all calls wait long. Otherwise a busy machine may end them, and more commands follow.
func patient(cfg cache.TiersConfig) cache.TiersConfig {
	cfg.InvalidateWait, cfg.Policies = time.Minute, remoteTimeout(10*time.Second)
	return cfg
}

// With Redis a miss is two round trips, and a hit one plain command. After hits a read expects one,
// so the first miss then takes a round trip more.
func TestRoundTripsOfARead(t *testing.T) {
	sent, prefix := &sent{}, redistest.Prefix()
	rdb, logs := wired(t, redistest.Start(t), sent), redistest.Start(t).Client()
	process := func() things {
		return with(t, ready(t, patient(onRedis(rdb, logs, prefix, time.Minute))), thingConfig{Load: (&source{}).load})
	}
	a, b := process(), process()
	get(t, a, 0)
	must(t, a.Set(t.Context(), 9, "v")) // the server learns the scripts
	for _, tt := range []struct {
		name string
		c    things
		k    int
		want string
	}{
		{"a miss", a, 1, "set evalsha"},
		{"the first hit", b, 1, "set"},
		{"the next hit", b, 0, "get"},
		{"the first miss after hits", b, 2, "get evalsha evalsha"},
		{"the next miss", b, 3, "set evalsha"},
	} {
		sent.take()
		get(t, tt.c, tt.k)
		equal(t, sent.take(), tt.want, "%s sends", tt.name)
	}
}

// A Set whose cell is on the log's server is one command: it claims the cell, appends the record and
// stores the value.
func TestRoundTripsOfASet(t *testing.T) {
	sent, prefix := &sent{}, redistest.Prefix()
	rdb := wired(t, redistest.Start(t), sent)
	process := func() things {
		return with(t, ready(t, patient(onRedis(rdb, rdb, prefix, time.Minute))), thingConfig{})
	}
	a, b := process(), process()
	k := 0
	for _, value := range []string{"a new key", "a key that has a value", "a key that has a value"} {
		// Both processes ask the log for some time after their begin, and later every 15 s. The test tries
		// again after a Set that comes at that moment.
		redistest.Eventually(t, value+" is set by one command", func(ctx context.Context) error {
			if value == "a new key" {
				k++
			}
			sent.take()
			err := a.Set(ctx, k, value)
			if words := sent.take(); err == nil && words != "evalsha" {
				err = fmt.Errorf("Set sends %s", words)
			}
			return err
		})
		wantFetch(t, a, k, fetched{value, cache.Local, false, nil})
		readsOnce(t, b, k, value)
	}
}

// readsOnce waits until a process reads the value of a key, or finds none if it is empty.
func readsOnce(t *testing.T, c things, k int, value string) {
	t.Helper()
	redistest.Eventually(t, fmt.Sprintf("a process reads %q", value), func(ctx context.Context) error {
		v, err := c.Get(ctx, k)
		if err == nil && v != value || err != nil && (value != "" || !errors.Is(err, cache.ErrMiss)) {
			return fmt.Errorf("it reads %q, %w", v, err)
		}
		return nil
	})
}

// between is a log that calls f in place of each step that stores, with the step.
type between struct {
	invalidate.Log
	f    func(step func() error) error
	deaf atomic.Bool // Tail waits for its context
}

func (b *between) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	if b.f == nil || a.Store == nil {
		return b.Log.Sync(ctx, at, a)
	}
	var got atomic.Pointer[invalidate.Page] // f may make the step later
	err := b.f(func() error {
		page, err := b.Log.Sync(ctx, at, a)
		got.Store(&page)
		return err
	})
	if page := got.Load(); page != nil {
		return *page, err
	}
	return invalidate.Page{}, err
}

func (b *between) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	if b.deaf.Load() {
		<-ctx.Done()
		return invalidate.Page{}, ctx.Err()
	}
	return b.Log.Tail(ctx, at)
}

// onOne is two processes whose cells and log are on one Redis. The first one's steps can be changed.
type onOne struct {
	rdb   *redis.Client
	steps *between
	tiers [2]*cache.Tiers
	c     [2]things
	cell  string // of key 1
}

func openOnOne(t *testing.T, wrap func(tier.Remote) tier.Remote) *onOne {
	rdb, prefix := redistest.Start(t).Client(), redistest.Prefix()
	w := &onOne{rdb: rdb, cell: prefix + ":v:default:things:1"}
	plain := false
	for i := range w.c {
		cfg := onRedis(rdb, rdb, prefix, time.Minute) // a Sync, every 15 s, would keep a step off
		cfg.InvalidateWait = time.Minute              // a round that takes a quarter of it keeps steps off, too
		steps := &between{Log: cfg.Log}
		if i == 0 {
			w.steps = steps
		}
		cfg.Remote, cfg.Log = wrap(cfg.Remote), steps
		_, plain = cfg.Remote.(*redistier.Tier)
		w.tiers[i] = ready(t, cfg)
		w.c[i] = with(t, w.tiers[i], thingConfig{Policy: slow, Tags: tagT})
	}
	if plain {
		w.rest(t)
	}
	return w
}

// rest waits until a Set of the first process goes in one step. While that asks the log something, as after
// its begin, a Set goes step by step.
func (w *onOne) rest(t *testing.T) {
	t.Helper()
	w.setsOnce(t, 100, "v", func(step func() error) error { return step() })
}

// setsOnce sets a key in the first process, with f in place of the step, until it succeeds in one step: the
// process may ask the log something meanwhile.
func (w *onOne) setsOnce(t *testing.T, k int, value string, f func(step func() error) error) {
	t.Helper()
	redistest.Eventually(t, "a Set goes in one step", func(ctx context.Context) error {
		stepped := false
		w.steps.f = func(step func() error) error { stepped = true; return f(step) }
		err := w.c[0].Set(ctx, k, value)
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
	readsOnce(t, w.c[process], 1, value)
}

// counting is a wrapper of a remote tier that counts fills.
type counting struct {
	tier.Remote
	fills *atomic.Int64
}

func (c counting) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) error {
	c.fills.Add(1)
	return c.Remote.Fill(ctx, keys, fills, stored)
}

// embedding does the same. It embeds the tier itself and not an interface, so it has all methods of that.
type embedding struct {
	*redistier.Tier
	fills *atomic.Int64
}

func (e embedding) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) error {
	e.fills.Add(1)
	return e.Tier.Fill(ctx, keys, fills, stored)
}

// bypassed is a wrapper that need not see each fill, and says so.
type bypassed struct{ counting }

func (b bypassed) Describe(tier.Remote) tier.Description { return b.Remote.Describe(b.Remote) }

// The step is not for a tier with a wrapper, which must see each fill, nor for a large value, which
// would hold up the log.
func TestSetStepByStep(t *testing.T) {
	var fills atomic.Int64
	for name, tt := range map[string]struct {
		size int
		wrap func(tier.Remote) tier.Remote
		once bool
		seen int64 // fills, by the wrapper
	}{
		"small":                         {100, asItIs, true, 0},
		"large":                         {100_000, asItIs, false, 0},
		"a wrapper":                     {100, func(r tier.Remote) tier.Remote { return counting{r, &fills} }, false, 200},
		"a wrapper that embeds":         {100, func(r tier.Remote) tier.Remote { return embedding{r.(*redistier.Tier), &fills} }, false, 200},
		"a wrapper that lets them pass": {100, func(r tier.Remote) tier.Remote { return bypassed{counting{r, &fills}} }, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, once := openOnOne(t, tt.wrap), false
			whole := func(step func() error) error { once = true; return step() }
			w.steps.f = whole
			noise := make([]byte, tt.size) // it cannot be compressed
			_, _ = rand.Read(noise)
			value := hex.EncodeToString(noise)
			fills.Store(0)
			for range max(tt.seen, 1) { // the process may ask the log something during the first ones
				must(t, w.c[0].Set(t.Context(), 1, value))
			}
			if tt.once {
				w.setsOnce(t, 1, value, whole)
			}
			equal(t, once, tt.once, "in one step")
			equal(t, fills.Load(), tt.seen, "fills that the wrapper sees")
			w.want(t, 1, value)
		})
	}
}

// countingLog is a wrapper of a log that counts the fences of keys that it appends.
type countingLog struct {
	*redislog.Log
	keys atomic.Int64
}

func (e *countingLog) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	e.keys.Add(int64(len(a.Keys)))
	return e.Log.Sync(ctx, at, a)
}

// A wrapper of a log sees each Set.
func TestSetBypassesNoWrapperOfTheLog(t *testing.T) {
	rdb := redistest.Start(t).Client()
	cfg := patient(onRedis(rdb, rdb, redistest.Prefix(), 20*time.Second))
	log := &countingLog{Log: cfg.Log.(*redislog.Log)}
	cfg.Log = log
	c := with(t, ready(t, cfg), thingConfig{})
	for range 200 {
		must(t, c.Set(t.Context(), 1, "v"))
	}
	equal(t, log.keys.Load(), 200, "keys that the wrapper saw")
}

// dropping is a wrapper of a log that passes a part of what it gets, against its contract.
type dropping struct{ invalidate.Log }

func (d dropping) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	return d.Log.Sync(ctx, at, invalidate.Append{Keys: a.Keys, Scopes: a.Scopes, Remove: a.Remove})
}

// A Set whose cell a wrapper has dropped goes step by step. No old value stays in the cell.
func TestSetBehindAWrapperThatDropsTheCell(t *testing.T) {
	rdb, prefix := redistest.Start(t).Client(), redistest.Prefix()
	cfg, other := patient(onRedis(rdb, rdb, prefix, time.Minute)), patient(onRedis(rdb, rdb, prefix, time.Minute))
	cfg.Log = dropping{cfg.Log}
	a, b := with(t, ready(t, cfg), thingConfig{}), with(t, ready(t, other), thingConfig{})
	for i := range 20 { // the process may ask the log something during the first ones
		value := fmt.Sprint("v", i)
		must(t, a.Set(t.Context(), 1, value))
		readsOnce(t, b, 1, value)
	}
}

// If the step fails, the three steps one by one follow. If this process is behind the log, it claims the cell,
// and fills it after it has caught up. A later record that is applied before the Set goes on ends its value.
// So the newest value wins in all processes.
func TestWhatComesDuringTheStep(t *testing.T) {
	lost := errors.New("lost")
	tag, ctx := invalidate.Tag("default", "t"), t.Context()
	later := func(call func(w *onOne) error) func(*onOne, func() error) error {
		return func(w *onOne, step func() error) error {
			records := func() int64 { return w.tiers[0].Stats().Log.Records }
			both := records() + 2
			err := errors.Join(step(), call(w))
			redistest.Eventually(t, "the tail hears of both records", func(context.Context) error {
				if n := records(); n < both {
					return fmt.Errorf("%d records of %d", n, both)
				}
				return nil
			})
			return err
		}
	}
	for name, tt := range map[string]struct {
		f    func(w *onOne, step func() error) error
		a, b string // what the two processes read in the end, or nothing
	}{
		"the question is lost": {func(*onOne, func() error) error { return lost }, "new", "new"},
		"the answer is lost":   {func(_ *onOne, step func() error) error { return errors.Join(step(), lost) }, "new", "new"},
		"the step panics":      {func(*onOne, func() error) error { panic("a client library") }, "new", "new"},
		"it comes late": {func(_ *onOne, step func() error) error {
			time.AfterFunc(20*time.Millisecond, func() { _ = step() })
			return lost
		}, "new", "new"},
		"another key":               {func(w *onOne, step func() error) error { return errors.Join(w.c[1].Set(ctx, 2, "v"), step()) }, "new", "new"},
		"a later record of its key": {later(func(w *onOne) error { return w.c[1].Delete(ctx, 1) }), "", ""},
		"a later record of its tag": {later(func(w *onOne) error { return w.tiers[1].Invalidate(ctx, tag) }), "", ""},
		"a later record of all":     {later(func(w *onOne) error { return w.tiers[1].Invalidate(ctx, invalidate.All()) }), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := openOnOne(t, asItIs)
			must(t, w.c[0].Set(ctx, 1, "old"))
			w.want(t, 1, "old")
			w.setsOnce(t, 1, "new", func(step func() error) error { return tt.f(w, step) })
			w.want(t, 0, tt.a)
			w.want(t, 1, tt.b)
			must(t, w.c[0].Set(ctx, 1, "newer"))
			w.want(t, 0, "newer")
			w.want(t, 1, "newer")
		})
	}
}

// A context that ends during the step ends the Set, and the old value is gone.
func TestSetIsCancelledDuringTheStep(t *testing.T) {
	w := openOnOne(t, asItIs)
	must(t, w.c[0].Set(t.Context(), 1, "old"))
	w.want(t, 1, "old")
	redistest.Eventually(t, "a Set is cancelled during its step", func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		end := make(chan struct{})
		defer close(end)
		stepped := false
		w.steps.f = func(step func() error) error { stepped = true; cancel(); <-end; return step() }
		err := w.c[0].Set(ctx, 1, "new")
		if !stepped {
			return errors.Join(err, errors.New("it goes step by step"))
		}
		fails(t, err, context.Canceled, "Set")
		return nil
	})
	redistest.Eventually(t, "the old value is gone", func(ctx context.Context) error {
		if v, err := w.c[1].Get(ctx, 1); err == nil && v == "old" {
			return errors.New("it is there")
		}
		return nil
	})
}
