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

// closesOnce is a log whose second Close fails.
type closesOnce struct {
	invalidate.Log
	closed bool
}

func (c *closesOnce) Close() (err error) {
	if c.closed {
		err = errBoom
	}
	c.closed = true
	return err
}

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
	{"can be closed once", "bound_is_positive_and_never_changes", func(m *mutant) { m.Log = &closesOnce{Log: m.Log} }},
	{"says a bound that is too small", "bound_is_positive_and_never_changes", syncs(func(_ *mutant, p *invalidate.Page) {
		p.Bound--
	})},
	{"forgets the tenants of tags", fencesBack, tags(func(f invalidate.Fence) invalidate.Scope { return invalidate.Tag("s", f.Scope.Text()) })},
	{"takes tags for prefixes", fencesBack, tags(func(f invalidate.Fence) invalidate.Scope { return invalidate.Prefix(f.Scope.Tenant(), f.Scope.Text()) })},
	{"texts in lower case", fencesBack, tags(func(f invalidate.Fence) invalidate.Scope {
		return invalidate.Tag(strings.ToLower(f.Scope.Tenant()), f.Scope.Text())
	})},
	{"texts without spaces at the end", fencesBack, texts(func(s string) string { return strings.TrimRight(s, " ") })},
	{"texts end at a zero byte", fencesBack, texts(func(s string) string { s, _, _ = strings.Cut(s, "\x00"); return s })},
	{"texts of ASCII", fencesBack, texts(func(s string) string {
		return strings.Map(func(r rune) rune { return min(r, 127) }, s)
	})},
	{"texts of 255 bytes", fencesBack, texts(func(s string) string { return s[:min(len(s), 255)] })},
	{"reads escapes", fencesBack, texts(func(s string) string { return strings.ReplaceAll(s, `\x0a`, "\n") })},
	{"composes characters", fencesBack, texts(func(s string) string { return strings.ReplaceAll(s, "e\u0301", "é") })},
	{"makes prefixes UTF-8", fencesBack, fences(func(f *invalidate.Fence) {
		if _, rest, _ := strings.Cut(f.Scope.Text(), ":"); f.Scope.Kind() == invalidate.KindPrefix && rest != "" {
			f.Scope = invalidate.Prefix(f.Scope.Tenant(), strings.ToValidUTF8(rest, "?"))
		}
	})},
	{"forgets what is soft", fencesBack, fences(func(f *invalidate.Fence) { f.Soft = false })},
	{"sorts fences", fencesBack, records(func(r *invalidate.Record) {
		slices.SortFunc(r.Fences, func(a, b invalidate.Fence) int { return strings.Compare(a.Scope.Text(), b.Scope.Text()) })
	})},
	{"holds fewer fences", "a_record_holds_MaxFences", records(func(r *invalidate.Record) {
		r.Fences = r.Fences[:min(len(r.Fences), invalidate.MaxFences-1)]
	})},
	{"holds shorter texts", "a_record_holds_MaxText", records(func(r *invalidate.Record) {
		size := 0
		for i, f := range r.Fences {
			if size += len(f.Scope.Text()); size >= invalidate.MaxText {
				r.Fences = r.Fences[:i]
				return
			}
		}
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
	{"drops an append that is sent again", "an_append_sent_again_is_another_record", aroundSync(func(m *mutant, c call) (invalidate.Page, error) {
		if len(c.a.Keys) != 1 {
			return c.do()
		}
		if before, again := m.kept.Load(c.a.Keys[0]); again {
			p, err := c.inner(c.ctx, c.at, invalidate.Append{})
			p.Key, p.Scope = before.(invalidate.Page).Key, before.(invalidate.Page).Scope
			return p, err
		}
		p, err := c.do()
		m.kept.Store(c.a.Keys[0], p)
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
	fencesBack = "fences_come_back_as_they_were_appended"
	tooMany    = "more_than_a_record_holds_is_refused"
)

// tags changes every tag of a Sync.
func tags(change func(f invalidate.Fence) invalidate.Scope) func(*mutant) {
	return fences(func(f *invalidate.Fence) {
		if f.Scope.Kind() == invalidate.KindTag {
			f.Scope = change(*f)
		}
	})
}

// texts changes the text of every tag of a Sync.
func texts(change func(string) string) func(*mutant) {
	return tags(func(f invalidate.Fence) invalidate.Scope {
		return invalidate.Tag(f.Scope.Tenant(), change(f.Scope.Text()))
	})
}

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
