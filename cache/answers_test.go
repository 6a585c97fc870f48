package cache_test

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// shortAnswers is a remote tier whose Batcher omits the last answer of one operation.
type shortAnswers struct {
	*tiertest.Memory
	op     tiertest.Op
	healed atomic.Bool
}

func (s *shortAnswers) GetMany(ctx context.Context, keys []string) ([][]byte, error) {
	out, err := s.Memory.GetMany(ctx, keys)
	if s.op == tiertest.Get && !s.healed.Load() {
		out = out[:len(out)-1]
	}
	return out, err
}

func (s *shortAnswers) ClaimMany(ctx context.Context, keys []string, c []tier.Claim) ([]tier.Claimed, error) {
	out, err := s.Memory.ClaimMany(ctx, keys, c)
	if s.op == tiertest.Claim && !s.healed.Load() {
		out = out[:len(out)-1]
	}
	return out, err
}

func (s *shortAnswers) FillMany(ctx context.Context, keys []string, f []tier.Fill) ([]bool, error) {
	out, err := s.Memory.FillMany(ctx, keys, f)
	if s.op == tiertest.Fill && !s.healed.Load() {
		out = out[:len(out)-1]
	}
	return out, err
}

// A Batcher that returns too few answers counts as a failing remote tier. It costs time, but
// every read gets its answer.
func TestBatcherAnswersShort(t *testing.T) {
	for name, op := range map[string]tiertest.Op{"get": tiertest.Get, "claim": tiertest.Claim, "fill": tiertest.Fill} {
		bubble(t, name, func(t *testing.T) {
			src := &source{}
			log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
			remote := &shortAnswers{Memory: tiertest.NewMemory(), op: op}
			tiers := open(t, cache.TiersConfig{Remote: remote, Log: log})
			c := with(t, tiers, thingConfig{Load: src.load, LoadMany: src.loadMany})
			synctest.Wait()
			got, err := c.GetMany(t.Context(), []int{1, 2, 3})
			if want := map[int]string{1: "1.1", 2: "2.1", 3: "3.1"}; err != nil || !maps.Equal(got, want) {
				t.Errorf("GetMany = %v, %v; want %v", got, err, want)
			}
			err = tiers.Invalidate(t.Context(), keyScope(t, 1), keyScope(t, 2), invalidate.Hold(time.Second))
			if ae, ok := errors.AsType[*tier.AnswersError](err); (op == tiertest.Get) != (err == nil) || (err != nil && !ok) {
				t.Errorf("Invalidate with Hold = %v (%v); want an AnswersError unless only GetMany returns too few answers", err, ae)
			}
			remote.healed.Store(true)
		})
	}
}
