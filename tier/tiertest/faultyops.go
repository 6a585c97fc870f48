package tiertest

import (
	"context"
	"errors"
	"slices"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/tier"
)

// enter counts a call and applies the faults before it. It returns the error to answer with.
func (f *Faulty) enter(ctx context.Context, op Op, keys ...string) error {
	x := f.ops.Enter(op)
	if before := f.before.Get(); before != nil {
		before(ctx, op, keys)
	}
	if err := fault.Sleep(ctx, x.Delay); err != nil {
		return err
	}
	if err := x.Hang(ctx); err != nil {
		return err
	}
	return x.Err
}

// keyErr returns the first fault that is set on one of keys.
func (f *Faulty) keyErr(keys ...string) error {
	for _, k := range keys {
		if err, _ := f.keys.Load(k); err != nil {
			return err.(error)
		}
	}
	return nil
}

func (f *Faulty) read(frame []byte) []byte {
	how := f.corrupt.Get()
	if how == nil || frame == nil {
		return frame
	}
	return how(frame)
}

// Get calls the inner Get, with the faults that are set.
func (f *Faulty) Get(ctx context.Context, key string) ([]byte, error) {
	if err := errors.Join(f.enter(ctx, Get, key), f.keyErr(key)); err != nil {
		return nil, err
	}
	frame, err := f.inner.Get(ctx, key)
	return f.read(frame), err
}

// Claim calls the inner Claim, with the faults that are set.
func (f *Faulty) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	if err := errors.Join(f.enter(ctx, Claim, key), f.keyErr(key)); err != nil {
		return tier.Claimed{}, err
	}
	got, err := f.inner.Claim(ctx, key, c)
	if f.unacked.Get() {
		return tier.Claimed{}, ErrUnacked
	}
	got.Cell = f.read(got.Cell)
	return got, err
}

// Fill calls the inner Fill, with the faults that are set.
func (f *Faulty) Fill(ctx context.Context, key string, x tier.Fill) (bool, error) {
	if err := errors.Join(f.enter(ctx, Fill, key), f.keyErr(key)); err != nil {
		return false, err
	}
	if f.dropped.Get() {
		return true, nil
	}
	ok, err := f.inner.Fill(ctx, key, x)
	if f.unheard.Get() {
		return false, ErrUnacked
	}
	return ok, err
}

// Unlink calls the inner Unlink, with the faults that are set.
func (f *Faulty) Unlink(ctx context.Context, keys ...string) error {
	if err := errors.Join(f.enter(ctx, Unlink, keys...), f.keyErr(keys...)); err != nil {
		return err
	}
	return f.inner.Unlink(ctx, keys...)
}

// Ping pings the inner tier. It succeeds when that is not a [tier.Pinger].
func (f *Faulty) Ping(ctx context.Context) error {
	if err := f.enter(ctx, Ping); err != nil {
		return err
	}
	if p, ok := f.inner.(tier.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// GetMany reads a batch, with the faults that are set.
func (f *Faulty) GetMany(ctx context.Context, keys []string) ([][]byte, error) {
	b, ok := f.inner.(tier.Batcher)
	if !ok {
		return tier.GetMany(ctx, oneByOne{f}, keys)
	}
	return batch(ctx, f, GetMany, keys, func(keys []string, _ []int) ([][]byte, error) {
		got, err := b.GetMany(ctx, keys)
		for i := range got {
			got[i] = f.read(got[i])
		}
		return got, err
	})
}

// ClaimMany claims a batch, with the faults that are set.
func (f *Faulty) ClaimMany(ctx context.Context, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	b, ok := f.inner.(tier.Batcher)
	if !ok {
		return tier.ClaimMany(ctx, oneByOne{f}, keys, claims)
	}
	return batch(ctx, f, ClaimMany, keys, func(keys []string, at []int) ([]tier.Claimed, error) {
		got, err := b.ClaimMany(ctx, keys, pick(claims, at))
		if f.unacked.Get() {
			return nil, ErrUnacked
		}
		for i := range got {
			got[i].Cell = f.read(got[i].Cell)
		}
		return got, err
	})
}

// FillMany fills a batch, with the faults that are set.
func (f *Faulty) FillMany(ctx context.Context, keys []string, fills []tier.Fill) ([]bool, error) {
	b, ok := f.inner.(tier.Batcher)
	if !ok {
		return tier.FillMany(ctx, oneByOne{f}, keys, fills)
	}
	return batch(ctx, f, FillMany, keys, func(keys []string, at []int) ([]bool, error) {
		if f.dropped.Get() {
			return slices.Repeat([]bool{true}, len(keys)), nil
		}
		got, err := b.FillMany(ctx, keys, pick(fills, at))
		if f.unheard.Get() {
			return nil, ErrUnacked
		}
		return got, err
	})
}

// batch applies the faults before a call, and calls the inner tier for the keys without a fault. It
// puts the answers in their places. at holds the indexes of the keys that it passes.
func batch[T any](ctx context.Context, f *Faulty, op Op, keys []string, call func(keys []string, at []int) ([]T, error)) ([]T, error) {
	out := make([]T, len(keys))
	if err := f.enter(ctx, op, keys...); err != nil {
		return out, err
	}
	var well []string
	var at []int
	var errs []error
	for i, k := range keys {
		if err := f.keyErr(k); err != nil {
			errs = append(errs, err)
			continue
		}
		well, at = append(well, k), append(at, i)
	}
	got, err := call(well, at)
	for i, v := range got {
		out[at[i]] = v
	}
	return out, errors.Join(append(errs, err)...)
}

func pick[T any](all []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = all[j]
	}
	return out
}
