package fence

import (
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// A frame of the remote tier names the positions that its process had applied. They may be above
// this process's cursor, because records arrive later here. But the records were in the log before
// the frame was stored. So a question that is asked after the frame was read brings them. If the
// complete answer ends below the frame, the log has lost records, for example because its
// server or its tables were restored. There may be no other sign of it. The follower then shows the
// frame's positions to the log. The log starts an epoch for all processes, as for any caller that is
// ahead of it.
//
// This does not find every loss. It fails when no process meets such a frame before the log has used
// the lost positions again. It also misses values of the lost history below the end of the log. So a
// log must notice a loss itself where it can.

// noteAhead notes the positions of an accepted frame if they are above the cursor. It keeps the
// highest of both sequences. They belong to the cursor's epoch; the notes of another epoch are
// dropped. Positions with other epoch numbers are damaged: no log could start an epoch above the
// highest number.
func (f *Fences) noteAhead(m Mark, at invalidate.Cursor) {
	if m.Key <= at.Key && m.Scope <= at.Scope || m.Epoch == 0 || m.Epoch != at.Epoch ||
		m.Key.Epoch() != at.Key.Epoch() || m.Scope.Epoch() != at.Scope.Epoch() || safeguard.Off(safeguard.Ahead) {
		return
	}
	for {
		next := invalidate.Cursor{Key: m.Key, Scope: m.Scope, Epoch: m.Epoch}
		old := f.ahead.Load()
		if old != nil && old.Epoch == m.Epoch {
			if m.Key <= old.Key && m.Scope <= old.Scope {
				return
			}
			next.Key, next.Scope = max(m.Key, old.Key), max(m.Scope, old.Scope)
		}
		if f.ahead.CompareAndSwap(old, &next) {
			return
		}
	}
}

// Misses reports whether the cursor is below the positions of frames that noteAhead has noted. Notes
// of another epoch do not count.
func (f *Fences) Misses(noted *invalidate.Cursor) bool {
	at := f.Cursor()
	return noted != nil && noted.Epoch == at.Epoch && (noted.Key > at.Key || noted.Scope > at.Scope)
}

// Reached reports whether everything up to some positions is applied, as far as can be told: they are of the same
// epoch.
func (f *Fences) Reached(at invalidate.Cursor) bool {
	c := f.Cursor()
	return c.Epoch != 0 && c.Epoch == at.Epoch && c.Key >= at.Key && c.Scope >= at.Scope
}

// Ahead returns the highest positions of frames that were above the cursor; nil: none.
func (f *Fences) Ahead() *invalidate.Cursor { return f.ahead.Load() }
