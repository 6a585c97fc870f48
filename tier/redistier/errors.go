package redistier

import (
	"context"

	"github.com/twofold-go/twofold/internal/rediserr"
	"github.com/twofold-go/twofold/tier"
)

// ready reports why a call must not go on, or nil.
func (t *Tier) ready(ctx context.Context, op string) error {
	if t.err != nil {
		return fail(op, t.err)
	}
	if t.rdb == nil {
		return fail(op, ErrNoClient)
	}
	if err := ctx.Err(); err != nil {
		return fail(op, err)
	}
	return nil
}

// rescue is deferred around every use of the client library, which panics at some invalid
// replies. It changes only the error.
func rescue(op string, err *error) {
	if p := recover(); p != nil {
		*err = fail(op, adapter.Panicked(p))
	}
}

// fail names the operation. The error is safe for logs.
func fail(op string, err error) error { return adapter.Fail(op, err) }

// fail is the function fail, or returns why the server denies the client access.
func (t *Tier) fail(op string, err error) error { return adapter.FailOn(t.rdb, op, err) }

var adapter = rediserr.Adapter{Name: "redistier", Reply: ErrReply, Own: []error{
	ErrReply, tier.ErrNonce, ErrTooLarge,
	ErrPrefix, ErrNoClient, ErrClient, ErrRing, ErrReplicaReads, ErrClientCache,
}}
