package resident

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Delete invalidates the keys of jobs, which have begun, and more scopes in one step. It passes the
// error of each key that could not be reached to failed, with the number of the job. It returns an
// error if that is about no key, or about the other scopes and not all keys. A scope that is refused is such an error; then nothing was done.
func (v *View) Delete(ctx context.Context, jobs []*Job, more []invalidate.Scope, failed func(i int, err error)) error {
	scopes := make([]invalidate.Scope, len(jobs), len(jobs)+len(more))
	for i, j := range jobs {
		scopes[i] = invalidate.Key(j.Full)
	}
	r, err := fence.NewRequest(append(scopes, more...)...)
	if err != nil || len(r.Scopes) == 0 {
		return err
	}
	r.Removed = v.Far == nil && len(r.Keys()) == len(jobs) // there are no cells
	err = v.Core.request(ctx, v.Policy().RemoteTimeout, r)
	named, of := 0, FailedKeys(err)
	for i, j := range jobs {
		if of(j.FullKey()) {
			failed(i, j.Fail(err))
			named++
		} else {
			j.Core.Local.Delete(j.Addr) // only to give the memory back
		}
	}
	part, ok := errors.AsType[*follow.PartError](err)
	if others := ok && part.Others && named < len(jobs); named > 0 && !others {
		return nil
	}
	return err
}

// Delete invalidates the job's key and more scopes.
func (j *Job) Delete(ctx context.Context, more ...invalidate.Scope) error {
	r, err := fence.NewRequest(append([]invalidate.Scope{invalidate.Key(j.Full)}, more...)...)
	if err != nil {
		return j.Fail(err)
	}
	r.Removed = j.View.Far == nil && len(r.Keys()) == 1 // there is no cell
	if err := j.Core.request(ctx, j.Policy.RemoteTimeout, r); err != nil {
		return j.Fail(err)
	}
	j.Core.Local.Delete(j.Addr) // only to give the memory back
	return nil
}

// FailedKeys returns a function that reports whether an error of a call for many keys is about a
// key.
func FailedKeys(err error) func(key string) bool {
	var keys []string
	if e, ok := errors.AsType[*tier.KeysError](err); ok {
		keys = e.Keys
	} else if e, ok := errors.AsType[*follow.PartError](err); ok {
		keys = e.Keys
	} else {
		return func(string) bool { return err != nil }
	}
	failed := make(map[string]struct{}, len(keys))
	for _, k := range keys {
		failed[k] = struct{}{}
	}
	return func(key string) bool { _, is := failed[key]; return is }
}
