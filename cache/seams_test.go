package cache_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// partial is a remote tier with one unreachable node.
type partial struct {
	*tiertest.Faulty
	down string // the suffix of that node's keys
	up   atomic.Bool
}

func (p *partial) Unlink(ctx context.Context, keys ...string) error {
	var ok, failed []string
	for _, k := range keys {
		if !p.up.Load() && strings.HasSuffix(k, p.down) {
			failed = append(failed, k)
		} else {
			ok = append(ok, k)
		}
	}
	if err := p.Faulty.Unlink(ctx, ok...); err != nil || len(failed) == 0 {
		return err
	}
	return &tier.KeysError{Keys: failed, Err: errRemote}
}

// While the log hangs, DeleteMany fails for every key, also for those whose cells were removed.
func TestDeleteManyWhileTheLogHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		remote := &partial{Faulty: w.wire[0], down: ":2"}
		tiers := open(t, cache.TiersConfig{Remote: remote, Log: w.link[0]})
		c := with(t, tiers, thingConfig{Load: w.src.load})
		synctest.Wait()
		w.link[0].Hang(true)
		advance(bound / 3) // the syncer's call of the log hangs
		err := c.DeleteMany(t.Context(), []int{1, 2})
		be, ok := errors.AsType[*cache.BatchError[int]](err)
		if !ok || len(be.Errs) != 2 {
			t.Fatalf("DeleteMany: %v, want an error for each of two keys", err)
		}
		for k, err := range be.Errs {
			if !errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("key %d: %v, want ErrUnavailable", k, err)
			}
		}
		remote.up.Store(true)
		w.link[0].Heal()
	})
}

// A LocalOnly cache would leave the cells of another cache with its namespace.
func TestLocalOnlyBesideOneThatIsNot(t *testing.T) {
	tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
	with(t, tiers, thingConfig{})
	_, err := cache.New(tiers, thingConfig{Namespace: "things", LocalOnly: true})
	if err == nil || !strings.Contains(err.Error(), "LocalOnly") {
		t.Errorf("New: %v, want an error that names LocalOnly", err)
	}
}

// Set refuses options that leave it no tier.
func TestSetWithoutATier(t *testing.T) {
	for name, tiers := range map[string]*cache.Tiers{
		"no remote tier": open(t, cache.TiersConfig{}), "LocalOnly": open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}),
	} {
		c := with(t, tiers, thingConfig{LocalOnly: true})
		wantError(t, c.Set(t.Context(), 1, "v", cache.SkipLocal()), "set", cell1, cache.ErrOption)
		err := c.SetMany(t.Context(), map[int]string{1: "v"}, cache.SkipLocal())
		wantError(t, err, "set many", "default:things", cache.ErrOption)
		if s := tiers.Stats(); s.Kinds.Keys != 0 {
			t.Errorf("%s: a refused call had an effect", name)
		}
	}
}

// SetMany waits for the log no longer than InvalidateWait, for any number of records.
func TestSetManyWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{Policy: patch{MaxValueBytes: new(100)}})
		w.link[0].Hang(true)
		begun := time.Now()
		err := w.c[0].SetMany(t.Context(), map[int]string{1: "a", 2: strings.Repeat("v", 200)})
		if !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("SetMany: %v, want ErrUnavailable", err)
		}
		if took := time.Since(begun); took > 260*time.Millisecond {
			t.Errorf("SetMany took %v, want 250ms", took)
		}
		w.link[0].Heal()
	})
}
