package engine

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Deletion is one step that invalidates keys and other scopes. It is for one goroutine.
type Deletion struct {
	v    *View
	r    fence.Request
	jobs []*Job
	job  *Job // begun for the next key
}

// NewDeletion returns the step for more scopes, or why they are refused.
func (v *View) NewDeletion(more []invalidate.Scope) (d Deletion, err error) {
	d.v, d.job = v, new(Job)
	if d.r, err = fence.NewRequest(more...); err != nil {
		return d, err
	}
	d.r.Removed = v.far == nil && len(d.r.Keys()) == 0 // there are no cells
	return d, nil
}

// Next returns the job of the next key, for the caller to begin.
func (d *Deletion) Next() *Job { return d.job }

// Add adds the key of the job that Next gave.
func (d *Deletion) Add() {
	d.r.Scopes = append(d.r.Scopes, invalidate.Key(d.job.full))
	d.jobs = append(d.jobs, d.job)
	d.job = new(Job)
}

// Send invalidates everything. It passes the error of each key that could not be reached to failed,
// with the number of the key. It returns an error if that is about no key.
func (d *Deletion) Send(ctx context.Context, failed func(i int, err error)) error {
	if len(d.r.Scopes) == 0 {
		return nil
	}
	err := d.v.t.request(ctx, d.v.policy().RemoteTimeout, d.r)
	told, of := err == nil, failedKeys(err)
	for i, j := range d.jobs {
		if of(j.FullKey()) {
			failed(i, j.fail(err))
			told = true
		} else {
			j.t.local.Delete(j.at) // only to give the memory back
		}
	}
	if told {
		return nil
	}
	return err
}

// failedKeys returns a function that reports whether an error of a call for many keys is about a
// key.
func failedKeys(err error) func(key string) bool {
	e, ok := errors.AsType[*tier.KeysError](err)
	if !ok {
		return func(string) bool { return err != nil }
	}
	failed := make(map[string]struct{}, len(e.Keys))
	for _, k := range e.Keys {
		failed[k] = struct{}{}
	}
	return func(key string) bool { _, is := failed[key]; return is }
}
