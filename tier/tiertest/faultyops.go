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

// keyErr returns the fault that is set on a key.
func (f *Faulty) keyErr(key string) error {
	if err, _ := f.keys.Load(key); err != nil {
		return err.(error)
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
func (f *Faulty) Get(ctx context.Context, keys []string, frames [][]byte) error {
	return batch(ctx, f, Get, keys, nil, frames, func(keys []string, _ []struct{}, frames [][]byte) error {
		err := f.inner.Get(ctx, keys, frames)
		for i := range frames {
			frames[i] = f.read(frames[i])
		}
		return err
	})
}

// Claim calls the inner Claim, with the faults that are set.
func (f *Faulty) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	op := Claim
	if len(claims) > 0 && claims[0].Look {
		op = Get
	}
	return batch(ctx, f, op, keys, claims, answers, func(keys []string, claims []tier.Claim, answers []tier.Claimed) error {
		err := f.inner.Claim(ctx, keys, claims, answers)
		if f.unacked.Get() && (op == Claim || slices.ContainsFunc(answers, func(a tier.Claimed) bool { return a.Granted })) {
			clear(answers)
			return ErrUnacked
		}
		for i := range answers {
			answers[i].Cell = f.read(answers[i].Cell)
		}
		return err
	})
}

// Fill calls the inner Fill, with the faults that are set.
func (f *Faulty) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) error {
	return batch(ctx, f, Fill, keys, fills, stored, func(keys []string, fills []tier.Fill, stored []bool) error {
		if f.dropped.Get() {
			for i := range stored {
				stored[i] = true
			}
			return nil
		}
		err := f.inner.Fill(ctx, keys, fills, stored)
		if f.unheard.Get() {
			clear(stored)
			return ErrUnacked
		}
		return err
	})
}

// Remove calls the inner Remove, with the faults that are set.
func (f *Faulty) Remove(ctx context.Context, keys []string) error {
	if err := f.enter(ctx, Remove, keys...); err != nil {
		return err
	}
	for _, k := range keys {
		if err := f.keyErr(k); err != nil {
			return err
		}
	}
	return f.inner.Remove(ctx, keys)
}

// batch applies the faults before a call, and calls the inner tier for the keys without a fault. It
// puts the answers in their places.
func batch[Q, A any](ctx context.Context, f *Faulty, op Op, keys []string, asked []Q, answers []A, call func([]string, []Q, []A) error) error {
	if err := f.enter(ctx, op, keys...); err != nil {
		return err
	}
	var well []string
	var of []Q
	var at []int
	var errs []error
	for i, k := range keys {
		if err := f.keyErr(k); err != nil {
			errs = append(errs, err)
			continue
		}
		well, at = append(well, k), append(at, i)
		if asked != nil {
			of = append(of, asked[i])
		}
	}
	if len(well) == 0 && len(keys) > 0 {
		return errors.Join(errs...)
	}
	got := make([]A, len(well))
	err := call(well, of, got)
	for i, v := range got {
		answers[at[i]] = v
	}
	return errors.Join(append(errs, err)...)
}
