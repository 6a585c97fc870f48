package collector

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// SourcesTag is the tag of everything in the cache that was made of the list of
// sources: whoever writes a source invalidates it, for [cache.DefaultTenant] or by
// [Collector.SourcesChanged].
const SourcesTag = "sources"

// known is what the cached list has of a source. Its config is not in it: that may hold
// keys, and the list may go to a tier that others read.
type known struct {
	ID      int64         `json:"id"`
	Type    string        `json:"type"`
	Own     time.Duration `json:"own,omitzero"`     // interval of its own
	Wrong   string        `json:"wrong,omitzero"`   // with its own interval
	Planned time.Duration `json:"planned,omitzero"` // interval that its next fetch was reckoned with
	Fetched bool          `json:"fetched,omitzero"` // it has been fetched
}

// newSources returns the cache of the list of sources. The list is read at every tick
// and by every status; it lives no longer than a tick, so that what another process
// writes is known at the next one even where no log carries the news.
func (c *Collector) newSources() (cache.Cache[string, []known], error) {
	tick := c.cfg.Settings.Tick
	return cache.New(c.cfg.Tiers, cache.Config[string, []known]{
		Namespace: "sources:v1",
		Tags:      func(string, []known) []string { return []string{SourcesTag} },
		Policy:    policy.Patch{TTL: new(tick), Jitter: new(0.0)},
		Load: func(ctx context.Context, _ string) ([]known, error) {
			states, err := c.cfg.Store.FetchStates(ctx)
			if err != nil {
				return nil, err
			}
			list := make([]known, 0, len(states))
			for _, s := range states {
				k := known{ID: s.ID, Type: s.Type, Planned: s.Interval, Fetched: !s.LastFetchedAt.IsZero()}
				if k.Own, err = schedule.Override(s.Config); err != nil {
					k.Wrong = err.Error()
				}
				list = append(list, k)
			}
			return list, nil
		},
	})
}

// SourcesChanged says that sources were added, changed or deleted: they are looked at
// anew at the next tick.
func (c *Collector) SourcesChanged(ctx context.Context) error {
	return c.cfg.Tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, SourcesTag))
}

// Resume lets a source that was paused go on at once.
func (c *Collector) Resume(ctx context.Context, id int64) error {
	if err := c.cfg.Store.ResumeSource(ctx, id); err != nil {
		return err
	}
	return c.SourcesChanged(ctx)
}

// prepare looks at the list of sources before any are claimed: it tells of those that
// nobody can fetch, and brings the plans of those whose interval was changed, by their
// config or by the environment of a new start, into line. What goes wrong is logged;
// claiming does not depend on it.
func (c *Collector) prepare(ctx context.Context) {
	list, err := c.sources.Get(ctx, "all")
	if err != nil {
		if ctx.Err() == nil {
			c.cfg.Log.ErrorContext(ctx, "the list of sources was not read", "err", err)
		}
		return
	}
	plans := map[int64]time.Duration{}
	for _, k := range list {
		if _, ok := c.cfg.Fetchers[k.Type]; !ok && c.once("type "+k.Type) {
			c.cfg.Log.WarnContext(ctx, "no fetcher for a source type: its sources are parked", "type", k.Type)
		}
		if k.Wrong != "" && c.once("interval "+k.Wrong) {
			c.cfg.Log.WarnContext(ctx, "a source has the interval of its type, not its own", "source", k.ID, "err", k.Wrong)
		}
		if every := c.interval(k); k.Fetched && k.Planned != every {
			plans[k.ID] = every
		}
	}
	if len(plans) == 0 {
		return
	}
	err = c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for id, every := range plans {
			if err := tx.SetInterval(ctx, id, every); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = c.SourcesChanged(ctx)
	}
	if err != nil && ctx.Err() == nil {
		c.cfg.Log.ErrorContext(ctx, "intervals were not brought into line", "err", err)
	}
}

func (c *Collector) interval(k known) time.Duration {
	if k.Own > 0 {
		return k.Own
	}
	return c.cfg.Settings.Intervals.For(k.Type)
}

// hostOf returns the host and port that a source is fetched from, empty if it cannot
// be.
func (c *Collector) hostOf(s store.Source) string {
	f, ok := c.cfg.Fetchers[s.Type]
	if !ok {
		return ""
	}
	addr, err := f.Address(fetchers.Source{Type: s.Type, Config: s.Config})
	if err != nil {
		return ""
	}
	u, err := url.Parse(addr)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
