package logtest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

const (
	clock       = "clock_of_the_log"
	tailBehind  = "tail_returns_the_records_after_its_cursor"
	tailHears   = "tail_returns_the_appends_of_another_handle"
	tailNothing = "tail_of_nothing"
	tailFirst   = "tail_before_the_first_sync"
	tailContext = "tail_of_a_context_that_ends"
	slicesOwner = "slices_have_one_owner"
)

// hangs is the only mutant that cannot run in a bubble: it never ends.
const hangs = "tail hangs past its context"

var ownerMutants = []named{
	{"keeps the slices it is given", slicesOwner, aroundSync(func(m *mutant, c call) (invalidate.Page, error) {
		p, err := c.do()
		m.kept.Store(p.Key, c.a.Keys)
		for i, r := range p.Keys {
			if f, ok := m.kept.Load(r.At); ok {
				p.Keys[i].Fences = slices.Clone(f.([]invalidate.Fence))
			}
		}
		return p, err
	})},
	{"gives fences away twice", slicesOwner, syncs(func(m *mutant, p *invalidate.Page) { m.share(p.Scopes) })},
	{"gives records away twice", slicesOwner, aroundSync(func(m *mutant, c call) (invalidate.Page, error) {
		p, err := c.do()
		if c.at.Key == 0 && len(p.Keys) == 2 {
			shared, _ := m.kept.LoadOrStore("records", p.Keys)
			p.Keys = shared.([]invalidate.Record)
		}
		return p, err
	})},
	{"clock in milliseconds", clock, syncs(func(_ *mutant, p *invalidate.Page) {
		for i := range p.Keys {
			p.Keys[i].Time /= 1000
		}
		p.Now /= 1000
	})},
	{"records in seconds", clock, records(func(r *invalidate.Record) { r.Time /= 1e6 })},
	{"clock turns back", clock, syncs(func(m *mutant, p *invalidate.Page) {
		keys, _ := m.log.Len()
		p.Now += int64(time.Hour/time.Microsecond) - int64(keys)
	})},
	{"records of the future", clock, records(func(r *invalidate.Record) { r.Time += 1000 })},
}

// share returns the same fences with every page.
func (m *mutant) share(records []invalidate.Record) {
	for i, r := range records {
		shared, _ := m.kept.LoadOrStore(r.At, r.Fences)
		records[i].Fences = shared.([]invalidate.Fence)
	}
}

var tailMutants = []named{
	{"tail returns keys only", tailBehind, tails(func(_ *mutant, p *invalidate.Page) { p.Scopes = nil })},
	{"tail returns scopes only", tailBehind, tails(func(_ *mutant, p *invalidate.Page) { p.Keys = nil })},
	{"tail returns later records only", tailBehind, tailFrom(func(m *mutant, _ invalidate.Cursor) invalidate.Cursor { return m.ends() })},
	{"tail ignores its cursor", tailBehind, tailFrom(func(*mutant, invalidate.Cursor) invalidate.Cursor { return invalidate.Cursor{} })},
	{"tail starts at its cursor", tailBehind, tailFrom(func(_ *mutant, at invalidate.Cursor) invalidate.Cursor {
		return invalidate.Cursor{Key: at.Key, Scope: max(at.Scope, 1) - 1}
	})},
	{"tail is deaf", tailHears, tails(func(_ *mutant, p *invalidate.Page) { *p = invalidate.Page{} })},
	{"tail returns the first sequence that has records", tailHears, tails(func(_ *mutant, p *invalidate.Page) {
		if len(p.Keys) > 0 && p.Keys[0].At.N() > 9 {
			p.Scopes = nil
			p.Keys = p.Keys[1:]
		}
	})},
	{"tail loses a record", tailHears, tails(func(_ *mutant, p *invalidate.Page) {
		p.Scopes = slices.DeleteFunc(p.Scopes, func(r invalidate.Record) bool { return r.At.N() == 7 })
	})},
	{"tail gives up with an error", tailNothing, aroundTail(func(_ *mutant, c call) (invalidate.Page, error) {
		p, err := c.do()
		if len(p.Keys) == 0 {
			err = errors.New("timed out")
		}
		return p, err
	})},
	{"tail repeats old records", tailNothing, aroundTail(func(m *mutant, c call) (invalidate.Page, error) {
		p, err := c.do()
		if len(p.Keys) == 0 {
			p.Keys, _ = m.log.Records()
		}
		return p, err
	})},
	{"tail appends", tailNothing, aroundTail(func(m *mutant, c call) (invalidate.Page, error) {
		p, err := c.do()
		_, _ = m.log.Sync(c.ctx, invalidate.Cursor{}, both(1))
		return p, err
	})},
	{"tail fails without a log", tailFirst, aroundTail(func(m *mutant, c call) (invalidate.Page, error) {
		if m.log.Bumps() == 0 {
			return invalidate.Page{}, errors.New("no such key")
		}
		return c.do()
	})},
	{"tail starts a log", tailFirst, func(m *mutant) {
		m.tail = func(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
			return m.log.Sync(ctx, at, invalidate.Append{})
		}
	}},
	{hangs, tailContext, func(m *mutant) {
		m.tail = func(context.Context, invalidate.Cursor) (invalidate.Page, error) { select {} }
	}},
	{"tail ignores its context", tailContext, aroundTail(func(_ *mutant, c call) (invalidate.Page, error) {
		return c.inner(context.WithoutCancel(c.ctx), c.at, c.a)
	})},
	{"tail outlives its context", tailContext, aroundTail(func(_ *mutant, c call) (invalidate.Page, error) {
		p, err := c.inner(context.WithoutCancel(c.ctx), c.at, c.a)
		return p, cmp.Or(err, c.ctx.Err())
	})},
	{"tail gives fences away twice", "tail's_slices_have_one_owner", tails(func(m *mutant, p *invalidate.Page) { m.share(p.Keys) })},
	{"tail polls", "tail_waits_until_there_is_something", func(m *mutant) {
		m.tail = func(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
			<-time.After(bound / 8)
			return m.log.Sync(ctx, at, invalidate.Append{})
		}
	}},
	{"tail does not wait", "tail_waits_until_there_is_something", func(m *mutant) {
		m.tail = func(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
			return m.log.Sync(ctx, at, invalidate.Append{})
		}
	}},
}

// tailFrom changes the cursor of a Tail.
func tailFrom(change func(m *mutant, at invalidate.Cursor) invalidate.Cursor) func(*mutant) {
	return aroundTail(func(m *mutant, c call) (invalidate.Page, error) {
		c.at = change(m, c.at)
		return c.do()
	})
}
