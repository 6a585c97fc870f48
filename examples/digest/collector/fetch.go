package collector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// Report is what became of one fetch.
type Report struct {
	SourceID    int64  `json:"source_id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Skipped     bool   `json:"skipped,omitempty"`
	Reason      string `json:"reason,omitempty"` // why it was skipped
	NotModified bool   `json:"not_modified,omitempty"`
	Fetched     int    `json:"fetched"`         // items in the answer
	New         int    `json:"inserted"`        // of these, how many were not known
	Updated     int    `json:"updated"`         // and how many are new versions
	Error       string `json:"error,omitempty"` // safe to show
	Returned    bool   `json:"returned,omitempty"`

	Paused  bool   `json:"paused,omitempty"`   // it failed too often, or is gone
	MovedTo string `json:"moved_to,omitempty"` // its address from now on
}

// CollectSource fetches one source now, whether it is due or not, paused or not. A
// source whose type has no fetcher is skipped, which is no error; one that somebody is
// fetching is [store.ErrClaimed], one that is not there [store.ErrNotFound]. That the
// fetch failed stands in the report.
func (c *Collector) CollectSource(ctx context.Context, id int64) (Report, error) {
	s, err := c.cfg.Store.FetchState(ctx, id)
	if err != nil {
		return Report{}, fmt.Errorf("collector: source %d: %w", id, err)
	}
	if _, ok := c.cfg.Fetchers[s.Type]; !ok {
		return Report{SourceID: id, Name: s.Name, Type: s.Type, Skipped: true, Reason: "no fetcher for type " + s.Type}, nil
	}
	l, err := c.cfg.Store.ClaimSource(ctx, id, c.cfg.Name, c.lease())
	if err != nil {
		return Report{}, fmt.Errorf("collector: source %d: %w", id, err)
	}
	c.counts.claimed.Add(1)
	return c.fetch(ctx, l), nil
}

// fetch fetches a claimed source and stores what came of it.
func (c *Collector) fetch(ctx context.Context, l store.Lease) Report {
	c.counts.inFlight.Add(1)
	defer c.counts.inFlight.Add(-1)
	began, started := time.Now(), c.cfg.Store.Now()
	res, err := c.ask(ctx, l.State)
	took := time.Since(began)

	report := Report{SourceID: l.State.ID, Name: l.State.Name, Type: l.State.Type}
	cut := err != nil && ctx.Err() != nil
	ctx, cancel := storing(ctx)
	defer cancel()
	if cut {
		return c.giveBack(ctx, l, report)
	}
	f := c.judge(l.State, res, err, started)
	f.Took = took
	added, err := c.cfg.Store.FinishFetch(ctx, l, f)
	if err != nil {
		return c.notStored(ctx, report, err)
	}
	report.NotModified, report.Fetched = res.NotModified, len(f.Items)
	report.New, report.Updated, report.Error = added.New, added.Updated, f.Error
	report.Paused = f.Plan.Pause
	if f.Plan.Adopt {
		report.MovedTo = f.NewURL
		if err := c.SourcesChanged(ctx); err != nil {
			c.cfg.Log.WarnContext(ctx, "others do not know yet that a source has moved", "source", l.State.ID, "err", err)
		}
	}
	c.counts.count(report)
	c.tell(ctx, l.State, f, report)
	return report
}

// ask runs the fetcher. A panic in it, from a parser that met what its author did not
// think of, is the source's failure and not the collector's end.
func (c *Collector) ask(ctx context.Context, s store.FetchState) (res fetchers.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.FetchTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v}
		}
	}()
	return c.cfg.Fetchers[s.Type].Fetch(ctx, fetchers.Source{Type: s.Type, Config: s.Config, Seen: s.SeenHash})
}

// judge says what a fetch means for the source.
func (c *Collector) judge(s store.FetchState, res fetchers.Result, err error, started time.Time) store.Fetched {
	every, _ := c.cfg.Settings.Intervals.Source(s.Type, s.Config) // what is wrong with its own has been told
	f := store.Fetched{
		Started: started, Interval: every, Status: res.Status,
		Listed: !res.NotModified, Seen: res.Seen, NewURL: res.MovedTo,
	}
	o := schedule.Outcome{Started: started, Ended: c.cfg.Store.Now(), Wait: res.FreshFor, MovedTo: res.MovedTo}
	if err != nil {
		o.Failed, o.Wait = true, 0
		f.Kind, f.Error = kindOf(err)
		if e, ok := errors.AsType[*fetch.StatusError](err); ok {
			f.Status, o.Wait, o.Gone = e.Code, e.RetryAfter, e.Code == http.StatusGone
		}
	}
	for _, it := range res.Items {
		f.Items = append(f.Items, store.Item{
			GUID: it.GUID, URL: it.URL, Title: it.Title, Content: it.Content, Author: it.Author, PublishedAt: it.PublishedAt,
		})
	}
	f.Plan = c.cfg.Schedule.Next(schedule.State{
		Every: every, Failures: s.Failures, MovedTo: s.MovedTo, MovedSeen: s.MovedSeen,
	}, o)
	return f
}

// giveBack returns the lease of a fetch that was cut short. It says nothing about the
// source.
func (c *Collector) giveBack(ctx context.Context, l store.Lease, r Report) Report {
	r.Returned = true
	c.counts.returned.Add(1)
	if err := c.cfg.Store.ReturnLease(ctx, l); err != nil {
		c.cfg.Log.ErrorContext(ctx, "a lease was not returned, and will run out", "source", l.State.ID, "err", err)
	}
	return r
}

// notStored leaves the lease to run out: whatever keeps the database from storing would
// otherwise have us ask the source again and again.
func (c *Collector) notStored(ctx context.Context, r Report, err error) Report {
	r.Error = "what was fetched was not stored"
	if errors.Is(err, store.ErrLeaseLost) {
		c.counts.lost.Add(1)
		c.cfg.Log.WarnContext(ctx, "a fetch took longer than its lease", "source", r.SourceID)
		return r
	}
	c.counts.unstored.Add(1)
	c.cfg.Log.ErrorContext(ctx, r.Error, "source", r.SourceID, "err", err)
	return r
}

func (c *Collector) tell(ctx context.Context, s store.FetchState, f store.Fetched, r Report) {
	log := c.cfg.Log.With("source", r.SourceID, "type", r.Type)
	switch {
	case r.Paused && s.PausedAt.IsZero():
		log.WarnContext(ctx, "source paused", "failures", f.Plan.Failures, "gone", f.Plan.Gone, "err", r.Error)
	case r.Error != "":
		log.InfoContext(ctx, "fetch failed", "failures", f.Plan.Failures, "until", f.Plan.NextFetchAt, "err", r.Error)
	case r.MovedTo != "":
		log.InfoContext(ctx, "source moved") // where to may hold a token
	default:
		log.DebugContext(ctx, "fetched", "items", r.Fetched, "new", r.New, "updated", r.Updated)
	}
}
