package memlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// sequence is one of the two sequences of a log. Its records never change, so dumps may share them.
type sequence struct {
	records []invalidate.Record
	end     invalidate.Position // the end according to the meta data
}

// last returns the record with which the sequence really ends.
func (s *sequence) last() invalidate.Record {
	if len(s.records) == 0 {
		return invalidate.Record{}
	}
	return s.records[len(s.records)-1]
}

// foreign reports whether the record at a position has another id than the caller's.
func (s *sequence) foreign(at invalidate.Position, id uint64) bool {
	i, found := s.find(at)
	return found && id != 0 && s.records[i].ID != id
}

// find returns the index of the record at a position, or of the next one.
func (s *sequence) find(at invalidate.Position) (i int, found bool) {
	return slices.BinarySearchFunc(s.records, at, func(r invalidate.Record, at invalidate.Position) int {
		return cmp.Compare(r.At, at)
	})
}

func (s *sequence) damaged() bool { return s.last().At != s.end }

// trim keeps the newest n records.
func (s *sequence) trim(n int) {
	s.records = s.records[max(0, len(s.records)-n):]
}

// behind returns copies of up to limit records after at.
func (s *sequence) behind(at invalidate.Position, limit int) (records []invalidate.Record, more bool) {
	from, found := s.find(at)
	if found {
		from++
	}
	to := min(from+limit, len(s.records))
	return copied(s.records[from:to]), to < len(s.records)
}

func (m *Log) pageLocked(at invalidate.Cursor) invalidate.Page {
	limit := cmp.Or(m.Config.Limit, DefaultLimit)
	keys, moreKeys := m.data.keys.behind(at.Key, limit)
	scopes, moreScopes := m.data.scopes.behind(at.Scope, limit)
	return invalidate.Page{
		Keys: keys, Scopes: scopes, More: moreKeys || moreScopes, End: m.endLocked(),
		Now: m.nowLocked(), Bound: m.data.bound,
	}
}

// endLocked returns where the log ends.
func (m *Log) endLocked() invalidate.Cursor {
	k, s := m.data.keys.last(), m.data.scopes.last()
	return invalidate.Cursor{Key: k.At, KeyID: k.ID, Scope: s.At, ScopeID: s.ID, Epoch: m.data.id}
}

func (h handle) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	patience := time.After(h.bound / 4)
	for {
		if err := ctx.Err(); err != nil {
			return invalidate.Page{}, fmt.Errorf("memlog: tail: %w", err)
		}
		page, wake := h.m.look(at)
		if wake == nil {
			return page, nil
		}
		select {
		case <-wake:
		case <-patience:
			return page, nil
		case <-ctx.Done():
		}
	}
}

// look returns the records after at. When there are none, it also returns a channel that the next
// append closes.
func (m *Log) look(at invalidate.Cursor) (invalidate.Page, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	page := m.pageLocked(at)
	page.More, page.End = false, invalidate.Cursor{} // only a Sync returns these
	if len(page.Keys)+len(page.Scopes) > 0 {
		return page, nil
	}
	if m.wake == nil {
		m.wake = make(chan struct{})
	}
	return page, m.wake
}

// copied returns a deep copy, so the reader owns its slices.
func copied(records []invalidate.Record) []invalidate.Record {
	out := slices.Clone(records)
	for i := range out {
		out[i].Fences = slices.Clone(out[i].Fences)
	}
	return out
}

// check refuses fences that a record cannot hold.
func check(a invalidate.Append) error {
	if err := cmp.Or(logwire.Check(a.Keys, true), logwire.Check(a.Scopes, false)); err != nil {
		return fmt.Errorf("%w: %w", ErrAppend, err)
	}
	return nil
}
