package digest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// Request asks for a user's digest.
type Request struct {
	UserID int64
	Kind   Kind

	// At asks for the period that was the last closed one then. Zero, or in the
	// future: now.
	At time.Time
}

// State says what became of a request.
type State string

// The states of a [Result].
const (
	Ready     State = "ready"      // there is a digest
	Empty     State = "empty"      // nothing came in that period
	NoSources State = "no_sources" // the user subscribes to nothing
	Stale     State = "stale"      // it could not be made; there is the one before
)

// Origin says what a digest cost.
type Origin string

// The origins of a digest.
const (
	FromMemory   Origin = "memory"   // this process had it
	FromDatabase Origin = "database" // another process, or an earlier one, had made it
	FromMerge    Origin = "merge"    // it was being made for somebody else
	FromCall     Origin = "call"     // the summariser was asked, or there was nothing to ask about
)

// Result is a user's digest. It is shared with others who ask for it, and must not be
// changed.
type Result struct {
	State  State
	Origin Origin // empty where there is no digest and none was looked for
	Window Window // of the digest: of a stale one, its own
	Hash   string // of the user's sources and options

	// Row is the user's row in digests. When State is Stale it has content and no id:
	// it is not this period's, and is not stored for it. Else it is zero unless State
	// is Ready.
	Row store.Digest

	// Err is why a stale digest stands in.
	Err error
}

// Generate returns the digest of a user, of the last period that is closed. Who asks for
// the same again gets the same row. An unknown user is [store.ErrNotFound]; other errors
// are the summariser's, the database's or ctx's, and leave nothing behind.
func (s *Service) Generate(ctx context.Context, r Request) (Result, error) {
	if _, err := ParseKind(string(r.Kind)); err != nil {
		return Result{}, err
	}
	window := s.calendar.LastClosed(r.Kind, s.moment(r.At))
	user, err := s.readers.Get(ctx, r.UserID)
	if err != nil {
		return Result{}, fmt.Errorf("digest: user %d: %w", r.UserID, err)
	}
	s.counts.add(requests, r.Kind, 1)
	if len(user.SourceIDs) == 0 {
		s.counts.add(noSources, r.Kind, 1)
		return Result{State: NoSources, Window: window, Hash: user.Hash}, nil
	}
	result, err := s.deliver(ctx, r.UserID, user, window)
	switch {
	case err == nil:
		s.counts.outcome(r.Kind, result)
		return result, nil
	case ctx.Err() != nil: // who has left was given nothing, and saved nothing
		return Result{}, err
	}
	s.counts.add(failures, r.Kind, 1)
	return s.standIn(ctx, user, window, err)
}

// NextClose returns when the next period of a kind closes, grace included: there is
// nothing new to generate before. The kind must be one of [Kinds].
func (s *Service) NextClose(k Kind) time.Time {
	now := s.store.Now()
	return s.calendar.Containing(k, now.Add(-s.calendar.grace)).End.Add(s.calendar.grace)
}

// moment is the time a request is about: there are no digests of the future.
func (s *Service) moment(at time.Time) time.Time {
	now := s.store.Now()
	if at.IsZero() || at.After(now) {
		return now
	}
	return at
}

// rowKey is a user's row of a digest.
type rowKey struct {
	User int64
	Key  DigestKey
}

// delivery is what a user was given of a digest.
type delivery struct {
	Row   store.Digest
	Empty bool
}

// deliver returns the user's row. That there is one is remembered like anything else, so
// that who asks again costs no look at the database; it is forgotten with the digest, and
// with whatever changes for the user.
func (s *Service) deliver(ctx context.Context, id int64, user reader, w Window) (Result, error) {
	var origin atomic.Value // the loader may go on when the caller has left
	key := rowKey{id, keyOf(user.Hash, w)}
	got, err := s.rows.Fetch(ctx, key, func(ctx context.Context, key rowKey) (delivery, error) {
		d, from, err := s.shared(ctx, user, w, key.Key)
		origin.Store(from)
		if err != nil || d.Empty {
			return delivery{Empty: true}, err
		}
		row, err := s.write(ctx, key.User, d)
		return delivery{Row: row}, err
	})
	result := Result{State: Ready, Origin: FromMerge, Window: w, Hash: user.Hash, Row: got.Value.Row}
	if got.Value.Empty {
		result.State = Empty
	}
	if from, ok := origin.Load().(Origin); ok {
		result.Origin = from
	} else if got.Source == cache.Local {
		result.Origin = FromMemory
	}
	return result, err
}

// shared returns the digest that all users of a combination share, and what it cost.
func (s *Service) shared(ctx context.Context, user reader, w Window, key DigestKey) (Digest, Origin, error) {
	var origin atomic.Value
	got, err := s.digests.Fetch(ctx, key, func(ctx context.Context, _ DigestKey) (Digest, error) {
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
	case cache.Load: // somebody else's
	}
	return got.Value, FromMerge, err
}

// write stores a digest as the user's, unless it stands there already.
func (s *Service) write(ctx context.Context, user int64, d Digest) (row store.Digest, err error) {
	row, err = s.store.DigestOf(ctx, user, string(d.Kind), d.Start, d.End)
	if err == nil && row.Content == d.Content || err != nil && !errors.Is(err, store.ErrNotFound) {
		return row, err
	}
	meta, err := d.metadata()
	if err != nil {
		return row, err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		row, err = tx.PutDigest(ctx, store.Digest{UserID: user, Type: string(d.Kind), Content: d.Content, Metadata: meta})
		return err
	})
	return row, err
}

// standIn returns the last digest of the same combination in place of one that could not
// be made, if there is one.
func (s *Service) standIn(ctx context.Context, user reader, w Window, cause error) (Result, error) {
	last, err := s.store.LastReady(ctx, user.Hash, string(w.Kind), w.Start)
	if err != nil { // what went wrong first says more
		return Result{}, cause
	}
	s.counts.add(stale, w.Kind, 1)
	s.log.Warn("digest: an old one stands in", "type", w.Kind, "combination", short(user.Hash), "error", cause)
	return Result{
		State: Stale, Origin: FromDatabase, Hash: user.Hash, Err: cause,
		Window: Window{Kind: w.Kind, Start: last.PeriodStart, End: last.PeriodEnd},
		Row:    store.Digest{Type: last.Type, Content: last.Content, Metadata: last.Metadata, CreatedAt: last.CreatedAt},
	}, nil
}

// short is as much of a hash as a log needs.
func short(hash string) string { return hash[:min(12, len(hash))] }
