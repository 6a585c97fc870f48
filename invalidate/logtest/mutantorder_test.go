package logtest_test

import (
	"context"
	"slices"

	"github.com/twofold-go/twofold/invalidate"
)

const (
	firstSync = "first_sync_starts_an_epoch"
	dense     = "numbers_are_dense_across_handles"
	cursor    = "a_page_starts_after_the_cursor"
	paging    = "pages_follow_each_other_without_loss_or_repeat"
	ahead     = "a_caller_ahead_starts_an_epoch"
	newEpoch  = "a_new_epoch_is_appended_to"
	behind    = "a_caller_behind_starts_nothing"
)

var orderMutants = []named{
	{"shows no bump", firstSync, syncs(func(_ *mutant, p *invalidate.Page) {
		p.Keys, p.Scopes = withoutBumps(p.Keys), withoutBumps(p.Scopes)
	})},
	{"bumps keys only", firstSync, syncs(func(_ *mutant, p *invalidate.Page) { p.Scopes = withoutBumps(p.Scopes) })},
	{"starts in epoch 0", firstSync, records(func(r *invalidate.Record) { r.At = invalidate.At(0, r.At.N()) })},
	{"starts with number 1", firstSync, records(func(r *invalidate.Record) { r.At++ })},
	{"numbers sequences apart", firstSync, syncs(func(_ *mutant, p *invalidate.Page) {
		for i := range p.Keys {
			p.Keys[i].At += invalidate.At(1, 0)
		}
	})},
	{"starts an epoch per sync", firstSync, args(func(m *mutant, _ *invalidate.Cursor, _ *invalidate.Append) { m.log.Restart() })},
	{"starts an epoch per handle", "numbers_are_dense_under_concurrent_appends", perHandle},
	{"appends nothing at first", "first_sync_appends,_too", args(func(m *mutant, _ *invalidate.Cursor, a *invalidate.Append) {
		if m.log.Bumps() == 0 {
			*a = invalidate.Append{}
		}
	})},
	{"is one log for all", "another_log_shares_nothing", func(m *mutant) { m.sync = m.everyone.log.Sync }},
	{"skips a number", dense, records(func(r *invalidate.Record) {
		if r.At.N() > 3 {
			r.At++
		}
	})},
	{"uses a number twice", dense, records(func(r *invalidate.Record) {
		if r.At.N() > 3 {
			r.At--
		}
	})},
	{"loses the appends of the second handle", dense, loner},
	{"hides what others append", dense, syncs(func(m *mutant, p *invalidate.Page) {
		if m.handle == 2 {
			p.Keys = slices.DeleteFunc(p.Keys, func(r invalidate.Record) bool { return r.At.N() == 1 })
		}
	})},
	{"returns the position of another append", "numbers_are_dense_under_concurrent_appends", syncs(func(_ *mutant, p *invalidate.Page) {
		if p.Key.N()%7 == 5 {
			p.Key--
		}
	})},
	{"loses what several append", "numbers_are_dense_under_concurrent_appends", loner},
	{"ignores the cursor", cursor, args(func(_ *mutant, at *invalidate.Cursor, _ *invalidate.Append) { *at = invalidate.Cursor{} })},
	{"ignores the cursor of scopes", cursor, args(func(_ *mutant, at *invalidate.Cursor, _ *invalidate.Append) { at.Scope = 0 })},
	{"starts at the cursor", cursor, args(func(_ *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		if at.Key.N() > 0 {
			at.Key--
		}
	})},
	{"skips one after the cursor", cursor, syncs(func(_ *mutant, p *invalidate.Page) {
		if len(p.Scopes) > 1 {
			p.Scopes = p.Scopes[1:]
		}
	})},
	{"never has more", paging, syncs(func(_ *mutant, p *invalidate.Page) { p.More = false })},
	{"always has more", paging, syncs(func(_ *mutant, p *invalidate.Page) { p.More = true })},
	{"has more of keys only", paging, syncs(func(_ *mutant, p *invalidate.Page) { p.More = len(p.Scopes) == 500 })},
	{"loses the end of a page", paging, syncs(func(_ *mutant, p *invalidate.Page) {
		if p.More && len(p.Keys) > 1 {
			p.Keys = p.Keys[:len(p.Keys)-1]
			p.More = false
		}
	})},
	{"loses a record between pages", paging, syncs(func(_ *mutant, p *invalidate.Page) {
		if p.More && len(p.Keys) > 1 {
			p.Keys = slices.Delete(p.Keys, len(p.Keys)/2, len(p.Keys)/2+1)
		}
	})},
	{"repeats a record between pages", paging, args(func(m *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		if at.Key.N() > 0 && m.ends().Key-at.Key > 500 {
			at.Key--
		}
	})},
	{"drops an append of a caller far behind", paging, args(func(m *mutant, at *invalidate.Cursor, a *invalidate.Append) {
		if m.ends().Key-at.Key > 1000 && at.Key == 0 && len(a.Keys) > 0 {
			a.Keys = nil
		}
	})},
}

func withoutBumps(records []invalidate.Record) []invalidate.Record {
	return slices.DeleteFunc(records, func(r invalidate.Record) bool { return r.Bump })
}

// perHandle treats every new handle as a new server.
func perHandle(m *mutant) {
	inner, first := m.sync, true
	m.sync = func(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
		if first {
			m.log.Restart()
		}
		first = false
		return inner(ctx, at, a)
	}
}

// loner makes the second handle use another log.
func loner(m *mutant) {
	if m.handle == 2 {
		m.sync, m.tail = m.everyone.log.Sync, m.everyone.log.Tail
	}
}

var epochMutants = []named{
	{"compares no ids", "a_caller_that_knows_other_records_starts_an_epoch", args(func(_ *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		at.KeyID, at.ScopeID, at.Epoch = 0, 0, 0
	})},
	{"compares no epochs", "a_caller_that_knows_other_records_starts_an_epoch", args(func(_ *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		at.Epoch = 0
	})},
	{"takes numbers for ids", newEpoch, records(func(r *invalidate.Record) { r.ID, r.After = uint64(r.At), 0 })},
	{"believes a caller ahead in keys", ahead, args(func(m *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		at.Key = min(at.Key, m.ends().Key)
	})},
	{"believes a caller ahead in scopes", ahead, args(func(m *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		at.Scope = min(at.Scope, m.ends().Scope)
	})},
	{"looks at numbers only", ahead, args(func(m *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		if end := m.ends().Key; at.Key.Epoch() != end.Epoch() {
			at.Key = end
		}
	})},
	{"looks at epochs only", ahead, args(func(m *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		if end := m.ends().Key; at.Key.Epoch() == end.Epoch() {
			at.Key = min(at.Key, end)
		}
	})},
	{"starts the next epoch, not the caller's next", ahead, args(func(m *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		end := m.ends()
		at.Key, at.Scope = min(at.Key, end.Key+1), min(at.Scope, end.Scope+1)
	})},
	{"forgets Prev", ahead, records(func(r *invalidate.Record) { r.Prev = 0 })},
	{"takes the caller's word for Prev", ahead, records(func(r *invalidate.Record) {
		if r.Prev > 0 {
			r.Prev++
		}
	})},
	{"bumps one sequence", ahead, syncs(func(_ *mutant, p *invalidate.Page) {
		p.Scopes = slices.DeleteFunc(p.Scopes, func(r invalidate.Record) bool { return r.Prev > 0 })
	})},
	{"does not show the caller its epoch", ahead, aroundSync(func(m *mutant, c call) (invalidate.Page, error) {
		end := m.ends()
		p, err := c.do()
		if c.at.Key > end.Key {
			p.Keys = withoutBumps(p.Keys)
		}
		return p, err
	})},
	{"appends before it bumps", ahead, aroundSync(func(_ *mutant, c call) (invalidate.Page, error) {
		before, err := c.inner(c.ctx, invalidate.Cursor{}, c.a)
		if err != nil {
			return before, err
		}
		p, err := c.inner(c.ctx, c.at, invalidate.Append{})
		p.Key, p.Scope = before.Key, before.Scope
		return p, err
	})},
	{"numbers on through epochs", newEpoch, records(func(r *invalidate.Record) {
		if r.At.Epoch()%2 == 1 && !r.Bump {
			r.At += 3
		}
	})},
	{"starts an epoch for a caller behind", behind, args(func(m *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		if at.Key > 0 && at.Key < m.ends().Key {
			m.log.Restart()
		}
	})},
	{"starts an epoch for another epoch", behind, args(func(m *mutant, at *invalidate.Cursor, _ *invalidate.Append) {
		if at.Key > 0 && at.Key.Epoch() != m.ends().Key.Epoch() {
			m.log.Restart()
		}
	})},
}
