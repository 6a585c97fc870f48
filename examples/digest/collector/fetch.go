package collector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// Report is the result of one fetch.
type Report struct {
	SourceID    int64  `json:"source_id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Skipped     bool   `json:"skipped,omitempty"`
	Reason      string `json:"reason,omitempty"` // why it was skipped
	NotModified bool   `json:"not_modified,omitempty"`
	Fetched     int    `json:"fetched"`         // items in the answer
	New         int    `json:"inserted"`        // of these, new ones
	Updated     int    `json:"updated"`         // of these, new versions of known items
	Error       string `json:"error,omitempty"` // safe to show
	Returned    bool   `json:"returned,omitempty"`
	Paused      bool   `json:"paused,omitempty"`   // the source failed too often, or is gone
	MovedTo     string `json:"moved_to,omitempty"` // the new address of the source
}

// CollectSource fetches one source now, even if it is paused or was fetched a moment ago. A failed fetch is not an error.
func (c *Collector) CollectSource(ctx context.Context, id int64) (Report, error) {
	s, err := c.cfg.Store.FetchState(ctx, id)
	if err == nil && c.cfg.Fetchers[s.Type] == nil {
		return Report{SourceID: id, Name: s.Name, Type: s.Type, Skipped: true, Reason: "no fetcher for type " + s.Type}, nil
	}
	var l store.Lease
	if err == nil {
		l, err = c.cfg.Store.ClaimSource(ctx, id, c.cfg.Name, c.lease())
	}
	if err != nil {
		return Report{}, fmt.Errorf("collector: source %d: %w", id, err)
	}
	c.count(func(n *Counts) { n.Claimed++ })
	return c.fetch(ctx, l, true), nil
}

// fetch keeps the lease if it cannot store the result, because the next fetch should not be
// immediate.
func (c *Collector) fetch(ctx context.Context, l store.Lease, now bool) Report {
	c.count(func(n *Counts) { n.InFlight++ })
	defer c.count(func(n *Counts) { n.InFlight-- })
	began, started := time.Now(), c.cfg.Store.Now()
	res, err := c.ask(ctx, l.State, now)
	took, cut := time.Since(began), err != nil && ctx.Err() != nil
	r := Report{SourceID: l.State.ID, Name: l.State.Name, Type: l.State.Type, Returned: cut}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // a stop must not lose the result
	defer cancel()
	if cut {
		c.count(func(n *Counts) { n.Returned++ })
		if err := c.cfg.Store.ReturnLease(ctx, l); err != nil {
			c.cfg.Log.ErrorContext(ctx, "a lease could not be returned; it will expire", "source", r.SourceID, "err", err)
		}
		return r
	}
	f := c.fetched(l.State, res, err, started)
	f.Took = took
	added, err := c.cfg.Store.FinishFetch(ctx, l, f)
	if err != nil {
		r.Error = "the result of the fetch could not be stored"
		c.count(func(n *Counts) {
			if errors.Is(err, store.ErrLeaseLost) {
				n.Lost++
			} else {
				n.Unstored++
			}
		})
		c.cfg.Log.ErrorContext(ctx, r.Error, "source", r.SourceID, "err", err)
		return r
	}
	r.NotModified, r.Fetched = res.NotModified, len(f.Items)
	r.New, r.Updated, r.Error, r.Paused = added.New, added.Updated, f.Error, f.Plan.Pause
	if f.Plan.Adopt {
		r.MovedTo = f.NewURL
		c.Tell(ctx, r.SourceID)
	}
	c.tell(ctx, l.State, f, r)
	if res.Cut {
		c.warnOnce(ctx, "the list of a source is too long, so its last items are not read; name an address with fewer items", "source", r.SourceID)
	}
	return r
}

// ask runs the fetcher. A panic, for example in a parser, is a failure of the source.
func (c *Collector) ask(ctx context.Context, s store.FetchState, now bool) (res fetchers.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.FetchTimeout)
	defer cancel()
	if now {
		ctx = fetch.Anew(ctx)
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w with a %T", errPanicked, v) // v may quote what the source sent
		}
	}()
	return c.cfg.Fetchers[s.Type].Fetch(ctx, fetchers.Source{Type: s.Type, Config: s.Config, Seen: s.SeenHash, Now: now})
}

func (c *Collector) fetched(s store.FetchState, res fetchers.Result, err error, started time.Time) store.Fetched {
	every, _ := c.cfg.Settings.Intervals.Source(s.Type, s.Config) // review has logged the error
	f := store.Fetched{
		Started: started, Interval: every, Status: res.Status,
		Listed: !res.NotModified, Items: res.Items, Seen: res.Seen, NewURL: res.MovedTo,
	}
	o := schedule.Outcome{Started: started, Ended: c.cfg.Store.Now(), Wait: res.FreshFor, MovedTo: res.MovedTo}
	if err != nil {
		o.Failed, o.Wait = true, 0
		f.Kind, f.Error = kindOf(err)
		if !c.cfg.Private && slices.Contains(private, f.Kind) {
			f.Error += "; --allow-private permits loopback and private addresses, at any port"
		}
		if e, ok := errors.AsType[*fetch.StatusError](err); ok {
			f.Status, o.Wait, o.Gone = e.Code, e.RetryAfter, e.Code == http.StatusGone
		}
	}
	f.Plan = c.cfg.Schedule.Next(schedule.State{Every: every, Failures: s.Failures, MovedTo: s.MovedTo, MovedSeen: s.MovedSeen}, o)
	return f
}

func (c *Collector) tell(ctx context.Context, s store.FetchState, f store.Fetched, r Report) {
	c.count(func(n *Counts) {
		switch {
		case r.Error != "":
			n.Failed++
			return
		case r.NotModified:
			n.NotModified++
		}
		n.Succeeded++
		n.New += int64(r.New)
		n.Updated += int64(r.Updated)
	})
	log := c.cfg.Log.With("source", r.SourceID, "type", r.Type)
	switch {
	case r.Paused && s.PausedAt.IsZero():
		log.WarnContext(ctx, "source paused", "failures", f.Plan.Failures, "gone", f.Plan.Gone, "err", r.Error)
	case r.Error != "":
		log.InfoContext(ctx, "fetch failed", "failures", f.Plan.Failures, "until", f.Plan.NextFetchAt, "err", r.Error)
	case r.MovedTo != "":
		log.InfoContext(ctx, "source moved") // the new address may hold a token
	default:
		log.DebugContext(ctx, "fetched", "items", r.Fetched, "new", r.New, "updated", r.Updated)
	}
}

var errPanicked = errors.New("the fetcher panicked")

// kindOf returns a word and a line for an error. The line quotes no query, header or body.
func kindOf(err error) (kind, text string) {
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		return e.Kind.Error(), e.Error()
	}
	if e, ok := errors.AsType[*fetch.StatusError](err); ok {
		return "status", e.Error()
	}
	if e, ok := errors.AsType[*fetchers.ConfigError](err); ok {
		return "config", e.Error()
	}
	if e, ok := errors.AsType[*fetchers.ParseError](err); ok {
		return "parse", e.Error()
	}
	switch {
	case errors.Is(err, errPanicked):
		return "panic", err.Error()
	case errors.Is(err, fetchers.ErrParse):
		return "parse", fetchers.ErrParse.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", "the fetch took too long"
	}
	return "other", "the fetch failed"
}
