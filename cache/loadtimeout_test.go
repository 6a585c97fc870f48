package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// ended is one way in which a load takes too long, or seems to.
type ended struct {
	name string
	load func(ctx context.Context, block chan struct{}) (string, error)
	own  time.Duration // the caller's timeout; 0 means none
	want bool          // the error is ErrLoadTimeout
}

var endings = []ended{
	{name: "a loader that obeys", want: true, load: func(ctx context.Context, _ chan struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}},
	{name: "a loader that obeys, and wraps", want: true, load: func(ctx context.Context, _ chan struct{}) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("query: %w", ctx.Err())
	}},
	{name: "a loader that does not obey", want: true, load: func(_ context.Context, block chan struct{}) (string, error) {
		<-block
		return "late", nil
	}},
	{
		name: "the caller's deadline", own: time.Second,
		load: func(ctx context.Context, _ chan struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() },
	},
	{name: "a deadline of the loader's own", load: func(ctx context.Context, _ chan struct{}) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}},
}

// A load that exceeds LoadTimeout fails with ErrLoadTimeout, which is also a DeadlineExceeded.
// Neither the caller's deadline nor the loader's own is an ErrLoadTimeout.
func TestErrLoadTimeout(t *testing.T) {
	if !errors.Is(cache.ErrLoadTimeout, context.DeadlineExceeded) {
		t.Error("ErrLoadTimeout is not a context.DeadlineExceeded")
	}
	if errors.Is(context.DeadlineExceeded, cache.ErrLoadTimeout) {
		t.Error("every DeadlineExceeded is an ErrLoadTimeout")
	}
	for _, tt := range endings {
		for _, batch := range []bool{false, true} {
			for _, remote := range []bool{false, true} {
				bubble(t, fmt.Sprintf("%s, batch=%v, remote=%v", tt.name, batch, remote), func(t *testing.T) { errLoadTimeout(t, tt, batch, remote) })
			}
		}
	}
}

func errLoadTimeout(t *testing.T, tt ended, batch, remote bool) {
	block := make(chan struct{})
	cfg := thingConfig{
		Load:   func(ctx context.Context, _ int) (string, error) { return tt.load(ctx, block) },
		Policy: patch{LoadTimeout: new(2 * time.Second)},
	}
	if batch {
		cfg.LoadMany = func(ctx context.Context, keys []int) (map[int]string, error) {
			v, err := tt.load(ctx, block)
			if err != nil {
				return nil, err
			}
			return map[int]string{keys[0]: v}, nil
		}
	}
	tc := tiersOf(remote)
	c := with(t, open(t, tc), cfg)
	ctx := t.Context()
	if tt.own > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tt.own)
		defer cancel()
	}
	begun := time.Now()
	crowd(3, func(int) { // one caller leads
		err := readFirst(ctx, c, batch)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want a DeadlineExceeded", err)
		}
		if errors.Is(err, cache.ErrLoadTimeout) != tt.want {
			t.Errorf("%v is an ErrLoadTimeout: %v, want %v", err, !tt.want, tt.want)
		}
	})
	if d := time.Since(begun); tt.want && d != 2*time.Second {
		t.Errorf("callers waited %v, want LoadTimeout", d)
	}
	close(block)
	synctest.Wait()
}

// readFirst reads key 1 by Get or by GetMany.
func readFirst(ctx context.Context, c things, batch bool) error {
	if !batch {
		_, err := c.Get(ctx, 1)
		return err
	}
	_, err := c.GetMany(ctx, []int{1, 2})
	return err
}

// ErrLoadTimeout also reaches a refresh, and a loader that reads the key that is too slow.
func TestErrLoadTimeoutElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		defer close(block)
		tiers := open(t, cache.TiersConfig{})
		inner := with(t, tiers, thingConfig{
			Namespace: "inner", Policy: patch{LoadTimeout: new(2 * time.Second)},
			Load: func(context.Context, int) (string, error) { <-block; return "", nil },
		})
		outer := with(t, tiers, thingConfig{Load: inner.Get})
		wantError(t, inner.Refresh(t.Context(), 1), "refresh", "default:inner:1", cache.ErrLoadTimeout)
		_, err := outer.Get(t.Context(), 2)
		wantError(t, err, "get", "default:things:2", cache.ErrLoadTimeout)
	})
}

// A claim that does not expire delays the reads of its key for LoadTimeout, once. Then one process
// replaces it. A Delete ends it at once.
func TestClaimThatDoesNotExpire(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src, mem := &source{took: time.Second}, tiertest.NewMemory()
			_, cs := fleet(t, 3, mem, cache.TiersConfig{}, thingConfig{Load: src.load, Policy: patch{LoadTimeout: new(20 * time.Second)}})
			if _, err := mem.Claim(t.Context(), cell1, tier.Claim{Nonce: tier.NewNonce(), Lease: time.Hour}); err != nil {
				t.Fatal(err)
			}
			want := 21 * time.Second // LoadTimeout and the load
			if deleted {
				want = 3 * time.Second
				go func() {
					<-time.After(2 * time.Second)
					succeeds(t, cs[0].Delete(t.Context(), 1))
				}()
			}
			begun := time.Now()
			crowd(30, func(i int) { get(t, cs[i%3], 1) })
			const naps = 200 * time.Millisecond
			if took := time.Since(begun); took < want || took > want+2*naps {
				t.Errorf("deleted %v: the reads took %v, want %v and up to %v for the pauses between two looks", deleted, took, want, 2*naps)
			}
			if n := src.total(); n != 1 {
				t.Errorf("deleted %v: %d loads, want 1", deleted, n)
			}
		})
	}
}
