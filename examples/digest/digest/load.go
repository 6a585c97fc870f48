package digest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// failureTTL is how long it is remembered that a model does not want to be asked. It
// knows itself for how long; this is for processes that it has not told.
const failureTTL = 10 * time.Second

// ErrPanic says that the summariser panicked.
var ErrPanic = errors.New("digest: the summariser panicked")

// load makes the digest of a combination and a period, when nobody has it cached: from
// the row that may be there all the same, from nothing where nothing came, or by a call.
// It runs once, whoever waits.
func (s *Service) load(ctx context.Context, user reader, w Window) (d Digest, origin Origin, err error) {
	deletion, err := s.store.LastDeletion(ctx) // what is deleted from here on must not come back
	if err != nil {
		return d, origin, err
	}
	row, err := s.store.CacheRow(ctx, user.Hash, string(w.Kind), w.Start, w.End)
	if err == nil {
		d, err = fromRow(row)
		return d, FromDatabase, err
	}
	if errors.Is(err, store.ErrNotFound) {
		d, err = s.make(ctx, user, w)
	}
	if err == nil {
		err = s.keep(ctx, d, deletion)
	}
	// Failures are not remembered. But a model that wants to be left alone is, by all
	// processes, for a moment.
	if err != nil && !errors.Is(err, summary.ErrRateLimited) {
		cache.Filling(ctx).NoStore()
	}
	return d, FromCall, err
}

// make reads what came in the period and has it summarised.
func (s *Service) make(ctx context.Context, user reader, w Window) (Digest, error) {
	limit := user.Options.MaxItems
	if limit == 0 {
		limit = DefaultMaxItems
	}
	items, err := s.store.Items(ctx, user.SourceIDs, w.Start, w.End, limit)
	if err != nil {
		return Digest{}, err
	}
	now := s.store.Now()
	d := Digest{
		Hash: user.Hash, SourcesHash: user.SourcesHash, Kind: w.Kind, Start: w.Start.UTC(), End: w.End.UTC(),
		SourceIDs: user.SourceIDs, Items: len(items), Options: user.Options,
		CreatedAt: now.UTC(), ExpiresAt: now.Add(w.Kind.Retention()).UTC(),
	}
	if len(items) == 0 {
		d.Empty = true
		return d, nil
	}
	request, err := s.request(ctx, items, user.Options, w)
	if err != nil {
		return d, err
	}
	got, err := s.call(ctx, request)
	if err != nil {
		s.log.Warn("digest: no summary", "type", w.Kind, "combination", short(d.Hash), "items", len(items), "error", err)
		return d, err
	}
	d.Content, d.Model, d.Tokens, d.Dropped, d.Repaired = got.Markdown, got.Model, got.Tokens, got.Dropped, got.Repaired
	return d, nil
}

func (s *Service) request(ctx context.Context, items []store.Item, o Options, w Window) (r summary.Request, err error) {
	r = summary.Request{
		Kind: string(w.Kind), Start: w.Start.In(s.calendar.zone), End: w.End.In(s.calendar.zone), Language: o.Language, Style: o.Style,
	}
	ids := make([]int64, len(items))
	for i, it := range items {
		ids[i] = it.SourceID
	}
	sources, err := s.store.Sources(ctx, ids)
	if err != nil {
		return r, err
	}
	names := make(map[int64]string, len(sources))
	for _, source := range sources {
		names[source.ID] = source.Name
	}
	for _, it := range items {
		r.Items = append(r.Items, summary.Item{
			Source: names[it.SourceID], Title: it.Title, URL: it.URL, Text: it.Content, Published: it.PublishedAt,
		})
	}
	return r, nil
}

// call asks the summariser, in its turn. That it is asked is on the books before, so that
// no crash can hide it, and what that cost is before anything else can go wrong. Whoever
// wrote the text, its links are the items'.
func (s *Service) call(ctx context.Context, r summary.Request) (got summary.Summary, err error) {
	if err := s.calls.Acquire(ctx, 1); err != nil {
		return got, err
	}
	defer s.calls.Release(1)
	kind := Kind(r.Kind)
	s.counts.add(calls, kind, 1)
	s.book(ctx)
	began := time.Now()
	got, err = s.ask(ctx, r)
	s.counts.add(tokens, kind, got.Tokens)
	s.counts.add(callTime, kind, time.Since(began).Milliseconds())
	s.counts.add(dropped, kind, int64(got.Dropped))
	s.counts.add(repaired, kind, int64(got.Repaired))
	if err != nil {
		s.counts.add(callErrors, kind, 1)
	}
	s.book(ctx)
	if err != nil {
		return summary.Summary{}, fmt.Errorf("digest: summary of %d items: %w", len(r.Items), err)
	}
	return got, nil
}

// ask has the items summarised, and checks the links. A panic, from a parser that met what
// its author did not think of, is this digest's failure and not the program's end: items
// are written by strangers.
func (s *Service) ask(ctx context.Context, r summary.Request) (got summary.Summary, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w with a %T", ErrPanic, v) // the value may quote an item
		}
	}()
	if got, err = s.cfg.Summariser.Summarise(ctx, r); err != nil {
		return got, err
	}
	checked, err := summary.Check(got.Markdown, r.Items)
	got.Markdown = checked.Markdown
	got.Dropped, got.Repaired = got.Dropped+checked.Dropped, got.Repaired+checked.Repaired
	return got, err
}

// book writes the counters at once. The caller may have left; the money is spent.
func (s *Service) book(ctx context.Context) {
	if err := s.counts.flush(context.WithoutCancel(ctx)); err != nil {
		s.log.Error("digest: a call is not on the books yet", "error", err)
	}
}

// keep writes the row of a digest. It stays for its time, whatever becomes of its cell:
// when no cell is trusted any more, that must not cost a call each.
func (s *Service) keep(ctx context.Context, d Digest, deletion int64) error {
	meta, err := d.metadata()
	if err != nil {
		return err
	}
	state := store.StateReady
	if d.Empty {
		state = store.StateEmpty
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		return tx.PutCacheRow(ctx, store.CacheRow{
			Hash: d.Hash, SourcesHash: d.SourcesHash,
			Type: string(d.Kind), PeriodStart: d.Start, PeriodEnd: d.End, State: state, Content: d.Content, Metadata: meta,
			SourceIDs: d.SourceIDs, RawItemCount: d.Items, Model: d.Model, Tokens: d.Tokens, CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt,
		}, deletion)
	})
}
