package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var errChaos = errors.New("chaos")

// Callers, loaders and the remote tier do random things. At the end of each run no flight, turn,
// refresh or other work is left, and every caller was answered in time.
func TestNothingIsLeft(t *testing.T) {
	seeds := uint64(400)
	if race.Enabled { // under the race detector
		seeds = 100
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			c := &chaos{T: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // the seed repeats the run
			c.open()
			c.run()
			c.wantNothingLeft()
		})
	}
}

// chaos is two processes on one remote tier, with random calls and faults.
type chaos struct {
	*testing.T
	seed   uint64
	mu     sync.Mutex // protects rnd
	rnd    *rand.Rand
	cfg    TiersConfig
	remote *tiertest.Faulty
	tiers  [2]*Tiers
	caches [2]Cache[int, string]
}

func (c *chaos) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.IntN(n)
}

func (c *chaos) ms(most int) time.Duration { return time.Duration(c.n(most)) * time.Millisecond }

func (c *chaos) open() {
	c.remote = tiertest.NewFaulty(tiertest.NewMemory())
	c.cfg = TiersConfig{Logger: slog.New(slog.DiscardHandler), MaxLoads: 1 + c.n(3), MaxRefreshes: 1 + c.n(2)}
	if c.n(4) > 0 {
		c.cfg.Remote = c.remote
	}
	conf := Config[int, string]{
		Namespace: "things", Policy: c.policy(), MaxBatch: 1 + c.n(4),
		Tags: func(k int, _ string) []string { return []string{fmt.Sprint(k % 2)} },
	}
	other := conf
	if c.n(2) == 0 {
		conf.Load = c.load
	}
	if conf.Load == nil || c.n(2) == 0 {
		conf.LoadMany = c.loadMany
	}
	if c.n(3) == 0 {
		conf.Size = c.size
	}
	other.Load = func(ctx context.Context, _ int) (string, error) { return "o", c.nap(ctx, 20*time.Millisecond) }
	for i, conf := range []Config[int, string]{conf, other} {
		cfg := c.cfg
		if i == 1 {
			cfg.Remote = c.remote
		}
		var errs [2]error
		c.tiers[i], errs[0] = Open(cfg)
		c.caches[i], errs[1] = New(c.tiers[i], conf)
		if err := errors.Join(errs[:]...); err != nil {
			c.Fatal(err)
		}
	}
}

func (c *chaos) policy() policy.Patch {
	p := policy.Patch{
		TTL: new(50 * time.Millisecond), Stale: new(time.Duration(c.n(3)) * 50 * time.Millisecond),
		StaleIfError: new(time.Duration(c.n(2)) * time.Second), LoadTimeout: new(time.Second),
		RemoteTimeout: new(50 * time.Millisecond), ErrorTTL: new(time.Duration(c.n(2)) * 50 * time.Millisecond),
	}
	if c.n(2) == 0 && (*p.Stale > 0 || *p.StaleIfError > 0) {
		p.SoftTimeout = new(20 * time.Millisecond)
	}
	return p
}

func (c *chaos) nap(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *chaos) size(string) int64 {
	if c.n(30) == 0 {
		panic("size")
	}
	return 8
}

func (c *chaos) load(ctx context.Context, k int) (string, error) {
	took := c.ms(60)
	if c.n(40) == 0 {
		took = 3 * time.Second
	}
	if c.n(4) == 0 { // it ignores its context
		<-time.After(took)
	} else if err := c.nap(ctx, took); err != nil {
		return "", err
	}
	switch c.n(20) {
	case 0:
		return "", errChaos
	case 1:
		return "", ErrNotFound
	case 2:
		panic("chaos")
	case 3:
		runtime.Goexit()
	case 4, 5:
		return c.caches[0].Get(ctx, c.n(8))
	case 6:
		_, err := c.caches[0].GetMany(ctx, []int{c.n(8), c.n(8), c.n(8)})
		return "many", err
	case 7:
		_ = c.tiers[0].Invalidate(context.WithoutCancel(ctx), invalidate.Tag(DefaultTenant, fmt.Sprint(k%2)))
	case 8:
		_ = c.caches[0].Delete(context.WithoutCancel(ctx), k)
	}
	return "v", nil
}

func (c *chaos) loadMany(ctx context.Context, keys []int) (map[int]string, error) {
	v, err := c.load(ctx, keys[0])
	m := map[int]string{}
	for _, k := range keys {
		if c.n(5) > 0 {
			m[k] = v
		}
	}
	return m, err
}

// run starts the callers. In every second run it also starts faults.
func (c *chaos) run() {
	var wg sync.WaitGroup
	stop := make(chan struct{})
	if c.n(2) == 1 {
		go c.disturb(stop)
	}
	for range 40 {
		wg.Go(c.call)
	}
	if c.n(3) == 0 {
		wg.Go(func() {
			<-time.After(c.ms(1200))
			ctx, cancel := context.WithTimeout(context.Background(), c.ms(200)+1)
			defer cancel()
			_ = c.tiers[0].Close(ctx)
		})
	}
	wg.Wait()
	close(stop)
	c.remote.Heal()
	<-time.After(10 * time.Second)
	synctest.Wait()
}

func (c *chaos) disturb(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(c.ms(100)):
		}
		op := tiertest.Op(c.n(4)) //nolint:gosec // one of four
		switch c.n(5) {
		case 0:
			c.remote.Hang(true, op)
		case 1:
			c.remote.Fail(errChaos, op)
		case 2:
			c.remote.Delay(c.ms(60), op)
		case 3:
			c.remote.LoseClaims(true)
		default:
			c.remote.Heal()
		}
	}
}

// call is one random call, with a long or a short deadline.
func (c *chaos) call() {
	defer func() { _ = recover() }()
	<-time.After(c.ms(1000))
	patience := time.Hour
	if c.n(3) == 0 {
		patience = c.ms(80)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	start, op := time.Now(), c.n(8)
	defer func() {
		if d := time.Since(start); d > 20*time.Second {
			c.Errorf("seed %d: call %d took %v", c.seed, op, d)
		}
	}()
	mine := c.caches[0]
	switch op {
	case 0, 1:
		_, _ = mine.Get(ctx, c.n(8))
	case 2, 3:
		_, _ = mine.GetMany(ctx, []int{c.n(8), c.n(8), c.n(8), c.n(8), c.n(8)})
	case 4:
		_ = mine.Refresh(ctx, c.n(8))
	case 5:
		_ = mine.Set(ctx, c.n(8), "set")
	case 6:
		_, _ = mine.Fetch(ctx, c.n(8), nil, MaxAge(c.ms(50)))
	case 7:
		_, _ = c.caches[1].Get(ctx, c.n(8))
	}
}

func (c *chaos) wantNothingLeft() {
	v := c.caches[0].v
	for what, left := range map[string]bool{
		"flights":   v.Flights.(interface{ Len() int }).Len() != 0,
		"turns":     !v.Core.Loads.TryAcquire(int64(v.Core.Config.MaxLoads)),
		"refreshes": !v.Core.Refresh.TryAcquire(int64(v.Core.Config.MaxRefreshes)),
		"loads":     resident.Loading.Load() != 0,
	} {
		if left {
			c.Errorf("seed %d: some %s are left", c.seed, what)
		}
	}
	for _, t := range c.tiers { // Close waits for work that is left
		if err := t.Close(context.Background()); err != nil {
			c.Errorf("seed %d: %v", c.seed, err)
		}
	}
}
