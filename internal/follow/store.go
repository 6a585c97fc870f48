package follow

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// ErrBusy means that Store has done nothing.
var ErrBusy = errors.New("invalidate: another step is under way")

// storing is a value that a round stores, if no order is sent with it.
type storing struct {
	req  fence.Request
	at   invalidate.Cursor
	cell *invalidate.Storing
	how  invalidate.Stored
	err  error
}

// Store invalidates a key and stores its new value in one step, in a round of its own. Cell returns
// what to store: its frame has the mark as, which is that of the key's new record and of what this
// process knows before it. When err is nil, the record is written and applied here.
//
// After ErrBusy nothing has happened: a round is under way, or orders wait for one, or the log did
// not answer the last one. After any other error, each part of the step may have happened, or may
// happen later. A later step then leaves at most a claim in the cell, because its cursor is too old.
func (w *Follower) Store(ctx context.Context, until time.Time, key invalidate.Scope, cell func(as fence.Mark) (*invalidate.Storing, error)) (as fence.Mark, how invalidate.Stored, err error) {
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	select {
	case w.turn <- struct{}{}:
	default:
		return as, how, ErrBusy
	}
	s := &storing{req: fence.Request{Scopes: []invalidate.Scope{key}}, at: w.fences.Cursor(), err: ErrBusy}
	as = fence.Mark{Key: s.at.Key + 1, Scope: s.at.Scope, Epoch: s.at.Epoch}
	if ctx.Err() == nil && w.mayLead(time.Until(until)) && w.isThrough() && !w.Owes() {
		s.cell, err = cell(as) // now: the round may outlive the call
	}
	if s.cell == nil || err != nil {
		<-w.turn
		return as, how, ErrBusy
	}
	w.storing = s
	if ctx.Done() == nil {
		w.leadRound(until)
	} else if !w.leadBeside(ctx, until) {
		return as, how, ctx.Err()
	}
	return as, s.how, s.err
}

// takeStoring returns what the round stores. Orders that come first could be about the same key.
func (w *Follower) takeStoring(orders []*order) *storing {
	s := w.storing
	if w.storing = nil; len(orders) > 0 {
		return nil
	}
	return s
}

// contents returns what a round sends: fences, and the cells that the log removes.
func (w *Follower) contents(orders []*order, s *storing) (keys, scopes []invalidate.Fence, cells []string) {
	for _, o := range orders {
		keys, scopes = o.req.Split(keys, scopes)
		if len(o.cells) > 0 && w.logRemoves() {
			cells = append(cells, w.cfg.Names(o.cells)...)
		}
	}
	if s != nil {
		keys, scopes = s.req.Split(keys, scopes)
	}
	return fence.Distinct(keys), fence.Distinct(scopes), cells
}
