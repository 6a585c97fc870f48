package redistier

import (
	"context"
	"fmt"

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
		*err = fail(op, rediserr.Panicked(p, ErrReply))
	}
}

// fail names the operation.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redistier: %s: %w", op, rediserr.Safe(err, ErrReply, own...))
}

// fail is the function fail, or returns why the server denies the client access.
func (t *Tier) fail(op string, err error) error {
	if denied := rediserr.Denied(t.rdb, err); denied != nil {
		return fmt.Errorf("redistier: %w", denied)
	}
	return fail(op, err)
}

// own lists the errors whose texts are this library's.
var own = []error{
	ErrReply, ErrReplySize, tier.ErrNonce, ErrTooLarge, errLengths,
	ErrPrefix, ErrNoClient, ErrClient, ErrRing, ErrReplicaReads, ErrClientCache,
}
