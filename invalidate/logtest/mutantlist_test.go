package logtest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// mutants name the subtest that must catch them.
var mutants = slices.Concat(fenceMutants, orderMutants, epochMutants, ownerMutants, tailMutants)

type named struct {
	name, caught string
	change       func(m *mutant)
}

var fenceMutants = []named{
	{"has no bound", "bound_is_positive_and_never_changes", func(m *mutant) {
		m.bound = func() time.Duration { return 0 }
	}},
	{"changes its bound", "bound_is_positive_and_never_changes", func(m *mutant) {
		m.bound = func() time.Duration { return bound + time.Duration(m.log.Bumps()) }
	}},
	{"says a bound that is too small", "bound_is_positive_and_never_changes", syncs(func(_ *mutant, p *invalidate.Page) {
		p.Bound--
	})},
	{"forgets lengths", fencesBack, fences(func(f *invalidate.Fence) { f.Len = 0 })},
	{"lengths of a byte", fencesBack, fences(func(f *invalidate.Fence) { f.Len &= 255 })},
	{"hashes of 63 bits", fencesBack, fences(func(f *invalidate.Fence) { f.Hash &^= 1 << 63 })},
	{"hashes of 32 bits", fencesBack, fences(func(f *invalidate.Fence) { f.Hash = uint64(uint32(f.Hash)) })},
	{"takes tags for prefixes", fencesBack, fences(func(f *invalidate.Fence) {
		if f.Kind == invalidate.KindTag {
			f.Kind = invalidate.KindPrefix
		}
	})},
	{"sorts fences", fencesBack, records(func(r *invalidate.Record) {
		slices.SortFunc(r.Fences, func(a, b invalidate.Fence) int { return a.Len - b.Len })
	})},
	{"holds fewer fences", "a_record_holds_MaxFences", records(func(r *invalidate.Record) {
		r.Fences = r.Fences[:min(len(r.Fences), invalidate.MaxFences-1)]
	})},
	{"cuts fences beyond the limit", tooMany, args(func(_ *mutant, _ *invalidate.Cursor, a *invalidate.Append) {
		a.Keys, a.Scopes = cut(a.Keys), cut(a.Scopes)
	})},
	{"appends the sequence that fits", tooMany, aroundSync(func(_ *mutant, c call) (invalidate.Page, error) {
		p, err := c.do()
		if err != nil && len(c.a.Keys) <= invalidate.MaxFences {
			_, _ = c.inner(c.ctx, c.at, invalidate.Append{Keys: c.a.Keys})
		}
		return p, err
	})},
	{"appends keys to scopes, too", "an_append_to_one_sequence_leaves_the_other", also(func(a *invalidate.Append) bool {
		return len(a.Keys) > 0 && len(a.Scopes) == 0
	})},
	{"appends empty records", "an_empty_append_appends_nothing", also(func(a *invalidate.Append) bool {
		return len(a.Keys) == 0 && len(a.Scopes) == 0
	})},
	{"appends empty slices", "an_empty_append_appends_nothing", also(func(a *invalidate.Append) bool {
		return a.Scopes != nil && len(a.Scopes) == 0
	})},
	{"forgets names", namesBack, records(func(r *invalidate.Record) { r.Names = "" })},
	{"forgets names in a tail", namesBack, tails(func(_ *mutant, p *invalidate.Page) {
		for i := range p.Keys {
			p.Keys[i].Names = ""
		}
	})},
	{"ends names at a zero byte", namesBack, records(func(r *invalidate.Record) { r.Names, _, _ = strings.Cut(r.Names, "\x00") })},
	{"makes names UTF-8", namesBack, records(func(r *invalidate.Record) { r.Names = strings.ToValidUTF8(r.Names, "?") })},
	{"names of 65,535 bytes", namesBack, records(func(r *invalidate.Record) { r.Names = r.Names[:min(len(r.Names), 1<<16-1)] })},
	{"keeps the names of the keys for both", namesBack, args(func(_ *mutant, _ *invalidate.Cursor, a *invalidate.Append) {
		a.ScopeNames = a.KeyNames
	})},
	{"cuts names that are too long", longNames, args(func(_ *mutant, _ *invalidate.Cursor, a *invalidate.Append) {
		a.KeyNames = a.KeyNames[:min(len(a.KeyNames), invalidate.MaxNames)]
	})},
	{"drops all names beside long ones", longNames, args(func(_ *mutant, _ *invalidate.Cursor, a *invalidate.Append) {
		if len(a.KeyNames) > invalidate.MaxNames {
			a.ScopeNames = ""
		}
	})},
	{"drops an append that is sent again", "an_append_sent_again_is_another_record", aroundSync(func(m *mutant, c call) (invalidate.Page, error) {
		if len(c.a.Keys) != 1 {
			return c.do()
		}
		if before, again := m.kept.Load(c.a.Keys[0].Hash); again {
			p, err := c.inner(c.ctx, c.at, invalidate.Append{})
			p.Key, p.Scope = before.(invalidate.Page).Key, before.(invalidate.Page).Scope
			return p, err
		}
		p, err := c.do()
		m.kept.Store(c.a.Keys[0].Hash, p)
		return p, err
	})},
	{"appends though the context has ended", "sync_of_a_context_that_has_ended", aroundSync(func(_ *mutant, c call) (invalidate.Page, error) {
		p, _ := c.inner(context.WithoutCancel(c.ctx), c.at, c.a)
		return p, c.ctx.Err()
	})},
	{"ignores the context", "sync_of_a_context_that_has_ended", aroundSync(func(_ *mutant, c call) (invalidate.Page, error) {
		p, err := c.inner(context.WithoutCancel(c.ctx), c.at, invalidate.Append{})
		if c.ctx.Err() == nil {
			p, err = c.do()
		}
		return p, err
	})},
}

const (
	namesBack  = "names_come_back_as_they_were_appended"
	longNames  = "names_that_are_too_long_are_dropped"
	fencesBack = "fences_come_back_as_they_were_appended"
	tooMany    = "more_than_MaxFences_is_refused"
)

func cut(fences []invalidate.Fence) []invalidate.Fence {
	return fences[:min(len(fences), invalidate.MaxFences)]
}

// also appends a record of scopes that was not requested, and does not return it.
func also(when func(a *invalidate.Append) bool) func(m *mutant) {
	return aroundSync(func(m *mutant, c call) (invalidate.Page, error) {
		if !when(&c.a) || m.log.Bumps() == 0 {
			return c.do()
		}
		c.a.Scopes = tagFence(1)
		p, err := c.do()
		p.Scope = 0
		return p, err
	})
}
