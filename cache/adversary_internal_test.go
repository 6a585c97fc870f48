package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var errChaos = errors.New("chaos")

// Whatever callers, loaders and the remote tier do: in the end no flight, turn, refresh or
// piece of work is left, and every caller was answered in time.
func TestNothingIsLeft(t *testing.T) {
	for seed := range uint64(400) {
		synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
	}
}

func chaos(t *testing.T, seed uint64) {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 1))
	n := func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }
	ms := func(most int) time.Duration { return time.Duration(n(most)) * time.Millisecond }
	sleep := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	faults, memory := n(2) == 1, tiertest.NewMemory()
	remote := tiertest.NewFaulty(memory)
	cfg := TiersConfig{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), MaxLoads: 1 + n(3), MaxRefreshes: 1 + n(2)}
	if n(4) > 0 {
		cfg.Remote = remote
	}
	tiers, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pol := policy.Patch{
		TTL: new(50 * time.Millisecond), Stale: new(time.Duration(n(3)) * 50 * time.Millisecond), StaleIfError: new(time.Duration(n(2)) * time.Second),
		LoadTimeout: new(time.Second), RemoteTimeout: new(50 * time.Millisecond), NegativeErrors: new(time.Duration(n(2)) * 50 * time.Millisecond),
	}
	if n(2) == 0 && (*pol.Stale > 0 || *pol.StaleIfError > 0) {
		pol.SoftTimeout = new(20 * time.Millisecond)
	}
	var c Cache[int, string]
	work := func(ctx context.Context, k int) (string, error) {
		d := ms(60)
		if n(40) == 0 {
			d = 3 * time.Second
		}
		ignore := n(4) == 0
		if ignore {
			<-time.After(d)
		} else if err := sleep(ctx, d); err != nil {
			return "", err
		}
		switch n(20) {
		case 0:
			return "", errChaos
		case 1:
			return "", ErrNotFound
		case 2:
			panic("chaos")
		case 3:
			runtime.Goexit()
		case 4, 5:
			return c.Get(ctx, n(8))
		case 6:
			_, err := c.GetMany(ctx, []int{n(8), n(8), n(8)})
			return "many", err
		case 7:
			_ = tiers.Invalidate(context.WithoutCancel(ctx), invalidate.Tag(DefaultTenant, fmt.Sprint(k%2)))
		case 8:
			_ = c.Delete(context.WithoutCancel(ctx), k)
		}
		return "v", nil
	}
	conf := Config[int, string]{Namespace: "things", Policy: pol, MaxBatch: 1 + n(4), Tags: func(k int, _ string) []string { return []string{fmt.Sprint(k % 2)} }}
	if n(2) == 0 {
		conf.Load = work
	}
	if conf.Load == nil || n(2) == 0 {
		conf.LoadMany = func(ctx context.Context, keys []int) (map[int]string, error) {
			v, err := work(ctx, keys[0])
			m := map[int]string{}
			for _, k := range keys {
				if n(5) > 0 {
					m[k] = v
				}
			}
			return m, err
		}
	}
	if n(3) == 0 {
		conf.Size = func(string) int64 {
			if n(30) == 0 {
				panic("size")
			}
			return 8
		}
	}
	if c, err = New(tiers, conf); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	if faults {
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(ms(100)):
				}
				op := tiertest.Op(n(7))
				switch n(5) {
				case 0:
					remote.Hang(true, op)
				case 1:
					remote.Fail(errChaos, op)
				case 2:
					remote.Delay(ms(60), op)
				case 3:
					remote.LoseClaims(true)
				default:
					remote.Heal()
				}
			}
		}()
	}
	other, err := Open(TiersConfig{Logger: cfg.Logger, Remote: remote})
	if err != nil {
		t.Fatal(err)
	}
	oc, err := New(other, Config[int, string]{Namespace: "things", Policy: pol, Load: func(ctx context.Context, _ int) (string, error) { return "o", sleep(ctx, 20*time.Millisecond) }})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			defer func() { _ = recover() }()
			<-time.After(ms(1000))
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			if n(3) == 0 {
				ctx, cancel = context.WithTimeout(context.Background(), ms(80))
			}
			defer cancel()
			start, op := time.Now(), n(8)
			defer func() {
				if d := time.Since(start); d > 20*time.Second {
					t.Errorf("seed %d: op %d took %v", seed, op, d)
				}
			}()
			switch op {
			case 0, 1:
				_, _ = c.Get(ctx, n(8))
			case 2, 3:
				_, _ = c.GetMany(ctx, []int{n(8), n(8), n(8), n(8), n(8)})
			case 4:
				_ = c.Refresh(ctx, n(8))
			case 5:
				_ = c.Set(ctx, n(8), "set")
			case 6:
				_, _ = c.Fetch(ctx, n(8), nil, MaxAge(time.Duration(n(50))*time.Millisecond))
			case 7:
				_, _ = oc.Get(ctx, n(8))
			}
		})
	}
	if n(3) == 0 {
		wg.Go(func() {
			<-time.After(ms(1200))
			ctx, cancel := context.WithTimeout(context.Background(), ms(200)+1)
			defer cancel()
			_ = tiers.Close(ctx)
		})
	}
	wg.Wait()
	close(stop)
	remote.Heal()
	<-time.After(10 * time.Second)
	synctest.Wait()
	for i, left := range []bool{
		c.s.flights.Len() != 0, !tiers.loads.TryAcquire(int64(cfg.MaxLoads)), !tiers.refresh.TryAcquire(int64(cfg.MaxRefreshes)),
		loading.Load() != 0,
	} {
		if left {
			t.Errorf("seed %d: left: %d (flights %d)", seed, i, c.s.flights.Len())
		}
	}
	if err := tiers.Close(context.Background()); err != nil { // it waits for work that is left
		t.Errorf("seed %d: %v", seed, err)
	}
	_ = other.Close(context.Background())
}
