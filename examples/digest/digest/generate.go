package digest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// Request asks for a user's digest of the last closed period.
type Request struct {
	UserID int64
	Kind   Kind
}

// State is the kind of a [Result].
type State string

// The states of a [Result].
const (
	Ready     State = "ready"      // there is a digest
	Empty     State = "empty"      // the period has no items
	NoSources State = "no_sources" // the user subscribes to nothing
)

// Origin says where a digest came from.
type Origin string

// The origins of a digest.
const (
	FromMemory   Origin = "memory"   // this process had it
	FromDatabase Origin = "database" // another process, or an earlier one, had generated it
	FromMerge    Origin = "merge"    // another request was generating it
	FromCall     Origin = "call"     // the summariser was called
	FromItems    Origin = "items"    // the period has no items, so nothing was called
)

// Result is a user's digest.
type Result struct {
	State  State
	Origin Origin // empty if no digest was looked up
	Window Window
	Hash   string       // of the user's sources and options
	Row    store.Digest // the user's row in digests if State is Ready
}

// Generate returns a user's digest of the last closed period.
func (s *Service) Generate(ctx context.Context, r Request) (Result, error) {
	user, window, err := s.reader(ctx, r)
	if err != nil {
		return Result{}, err
	}
	s.counts.add(requests, 1)
	result := Result{State: NoSources, Window: window, Hash: user.Hash}
	if len(user.SourceIDs) == 0 {
		s.counts.add(noSources, 1)
		return result, nil
	}
	d, origin, err := s.shared(ctx, user, window)
	result.State, result.Origin = Empty, origin
	if err == nil && d.State == store.StateReady {
		result.State = Ready
		result.Row, err = s.put(ctx, r.UserID, d)
	}
	switch {
	case err == nil:
		s.counts.outcome(result)
		return result, nil
	case ctx.Err() != nil: // the caller has left, so it gets nothing and nothing is counted
		return Result{}, err
	}
	s.counts.add(failures, 1)
	return Result{}, err
}

// Material holds the items of a user's digest.
type Material struct {
	Hash  string       `json:"subscription_hash"` // of the user's sources, without the options
	Start time.Time    `json:"period_start"`
	End   time.Time    `json:"period_end"`
	Items []store.Item `json:"items"`
}

// Material returns the items of the digest of the last closed period: the newest, at most limit.
func (s *Service) Material(ctx context.Context, r Request, limit int) (m Material, err error) {
	user, window, err := s.reader(ctx, r)
	if err != nil {
		return m, err
	}
	items, err := s.items(ctx, user, window, limit)
	return Material{user.SourcesHash, window.Start, window.End, append([]store.Item{}, items...)}, err
}

// NextClose returns when the next period of a kind closes, including the grace. Before that
// there is nothing new to generate.
func (s *Service) NextClose(k Kind) time.Time {
	return s.calendar.Containing(k, s.store.Now().Add(-s.calendar.grace)).End.Add(s.calendar.grace)
}

func (s *Service) shared(ctx context.Context, user reader, w Window) (Digest, Origin, error) {
	var origin atomic.Value // the loader may still run after the caller has left
	got, err := s.digests.Fetch(ctx, keyOf(user.Hash, w), func(ctx context.Context, _ DigestKey) (Digest, error) {
		d, from, err := s.load(ctx, user, w)
		origin.Store(from)
		return d, err
	}, cache.TTL(w.Kind.Retention()))
	if from, ok := origin.Load().(Origin); ok {
		return got.Value, from, err
	}
	switch got.Source {
	case cache.Local:
		return got.Value, FromMemory, err
	case cache.Remote:
		return got.Value, FromDatabase, err
	case cache.Load: // of another request
	}
	return got.Value, FromMerge, err
}

func (s *Service) put(ctx context.Context, user int64, d Digest) (row store.Digest, err error) {
	row, err = s.store.DigestOf(ctx, user, d.Type, d.PeriodStart, d.PeriodEnd)
	if err == nil && row.Content == d.Content || err != nil && !errors.Is(err, store.ErrNotFound) {
		return row, err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		row, err = tx.PutDigest(ctx, store.Digest{UserID: user, Type: d.Type, Content: d.Content, Metadata: d.Metadata})
		return err
	})
	return row, err
}

func short(hash string) string { return hash[:min(12, len(hash))] }

// Metadata is stored beside a text, in the columns of that name.
type Metadata struct {
	Start   int64   `json:"period_start"` // unix ms
	End     int64   `json:"period_end"`
	Sources []int64 `json:"source_ids"`
	Dropped int     `json:"links_dropped"`
	Options Options `json:"options"`
	Public  bool    `json:"public,omitempty"` // an operator stored the text for all users
}
