package follow

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// ErrBehind means that the log ends below a frame of the remote tier, and starts no epoch for a
// caller that is ahead of it. That is against the contract of [invalidate.Log].
var ErrBehind = errors.New("invalidate: the log has lost records that a cell of the remote tier names, and starts no epoch")

// report shows positions to the log that it should have. Their ids are not known. The answer begins
// after records that this process may lack, so report drops it; another question brings the rest.
func (w *Follower) report(ctx context.Context, noted *invalidate.Cursor, until time.Time) error {
	at := w.fences.Cursor()
	if noted.Key > at.Key {
		at.Key, at.KeyID = noted.Key, 0
	}
	if noted.Scope > at.Scope {
		at.Scope, at.ScopeID = noted.Scope, 0
	}
	w.cfg.Logger.Warn("invalidate: the remote tier has cells of records that the log has lost; the log is asked for a new epoch")
	_, err := w.ask(ctx, at, invalidate.Append{}, nil, nil, until)
	return err
}
