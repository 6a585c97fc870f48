package tiertest

import (
	"context"
	"errors"
	"slices"

	"github.com/twofold-go/twofold/tier"
)

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

// one makes a call, with the faults before it and those of its reply.
func one[T any](ctx context.Context, f *Faulty, op Op, keys []string, call func() (T, error)) (none T, err error) {
	if err := errors.Join(f.enter(ctx, op, keys), f.keyErr(keys...)); err != nil {
		return none, err
	}
	got, err := call()
	if lost := f.ops.Now(op).Lost; lost != nil {
		return none, lost
	}
	return got, err
}

// enter counts a call and applies the faults before it. It returns the error to answer with.
func (f *Faulty) enter(ctx context.Context, op Op, keys []string) error {
	return f.ops.Begin(ctx, op, func() {
		if before := f.before.Get(); before != nil {
			before(ctx, op, keys)
		}
	})
}

// Get calls the inner Get, with the faults that are set.
func (f *Faulty) Get(ctx context.Context, key string) ([]byte, error) {
	frame, err := one(ctx, f, Get, []string{key}, func() ([]byte, error) { return f.inner.Get(ctx, key) })
	return f.read(frame), err
}

// Claim calls the inner Claim, with the faults that are set.
func (f *Faulty) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	got, err := one(ctx, f, Claim, []string{key}, func() (tier.Claimed, error) { return f.inner.Claim(ctx, key, c) })
	got.Cell = f.read(got.Cell)
	return got, err
}

// Fill calls the inner Fill, with the faults that are set.
func (f *Faulty) Fill(ctx context.Context, key string, x tier.Fill) (bool, error) {
	return one(ctx, f, Fill, []string{key}, func() (bool, error) {
		if f.lost.Get() {
			return true, nil
		}
		return f.inner.Fill(ctx, key, x)
	})
}

// Unlink calls the inner Unlink, with the faults that are set.
func (f *Faulty) Unlink(ctx context.Context, keys ...string) error {
	_, err := one(ctx, f, Unlink, keys, func() (struct{}, error) { return struct{}{}, f.inner.Unlink(ctx, keys...) })
	return err
}

// Ping pings the inner tier. It succeeds when that is not a [tier.Pinger].
func (f *Faulty) Ping(ctx context.Context) error {
	_, err := one(ctx, f, Ping, nil, func() (none struct{}, err error) {
		if p, ok := f.inner.(tier.Pinger); ok {
			err = p.Ping(ctx)
		}
		return none, err
	})
	return err
}

// GetMany reads a batch, with the faults that are set.
func (f *Faulty) GetMany(ctx context.Context, keys []string) ([][]byte, error) {
	b, ok := f.inner.(tier.Batcher)
	if !ok {
		return tier.GetMany(ctx, oneByOne{f}, keys)
	}
	got, err := batch(ctx, f, GetMany, keys, func(keys []string, _ []int) ([][]byte, error) { return b.GetMany(ctx, keys) })
	for i := range got {
		got[i] = f.read(got[i])
	}
	return got, err
}

// ClaimMany claims a batch, with the faults that are set.
func (f *Faulty) ClaimMany(ctx context.Context, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	b, ok := f.inner.(tier.Batcher)
	if !ok {
		return tier.ClaimMany(ctx, oneByOne{f}, keys, claims)
	}
	got, err := batch(ctx, f, ClaimMany, keys, func(keys []string, at []int) ([]tier.Claimed, error) {
		return b.ClaimMany(ctx, keys, pick(claims, at))
	})
	for i := range got {
		got[i].Cell = f.read(got[i].Cell)
	}
	return got, err
}

// FillMany fills a batch, with the faults that are set.
func (f *Faulty) FillMany(ctx context.Context, keys []string, fills []tier.Fill) ([]bool, error) {
	b, ok := f.inner.(tier.Batcher)
	if !ok {
		return tier.FillMany(ctx, oneByOne{f}, keys, fills)
	}
	return batch(ctx, f, FillMany, keys, func(keys []string, at []int) ([]bool, error) {
		if f.lost.Get() {
			return slices.Repeat([]bool{true}, len(keys)), nil
		}
		return b.FillMany(ctx, keys, pick(fills, at))
	})
}

// batch calls the inner tier for the keys without a fault, and puts its answers in their places.
// at holds the indexes of the keys that it passes.
func batch[T any](ctx context.Context, f *Faulty, op Op, keys []string, call func(keys []string, at []int) ([]T, error)) ([]T, error) {
	out := make([]T, len(keys))
	if err := f.enter(ctx, op, keys); err != nil {
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
	if lost := f.ops.Now(op).Lost; lost != nil {
		return out, lost
	}
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
