package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// Claim describes the leases that a collector asks for.
type Claim struct {
	Owner string        // the collector's name, unique in the database
	For   time.Duration // how long a lease lasts
	Types []string      // types with a fetcher; sources of other types are not read
	Max   int           // the most leases to return
	Skew  time.Duration // how early a source may be fetched
	Probe bool          // whether sources that were paused for their failures are due too
	// HostOf returns the host of a source. It must be fast: it runs inside a transaction.
	// PerHost limits the fetches from one host.
	HostOf  func(Source) string
	PerHost int
}

// Lease is the right to fetch a source until State.ClaimedUntil.
type Lease struct {
	State FetchState // as of the start of the lease
	Token string     // unique for each lease
}

// due are the sources that may be claimed. Skew applies only to the interval, not to a back-off.
const (
	claimable = ` s.is_deleted = 0 AND s.gone = 0 AND s.type IN (SELECT value FROM json_each(?1))
		AND (s.is_active = 1 OR (?2 AND s.paused_at IS NOT NULL))`
	leased = ` coalesce(s.claimed_until, 0) > ?3`
	due    = claimable + ` AND NOT` + leased + ` AND coalesce(s.next_fetch_at, 0) <= ?3 + ?4
		AND coalesce(s.not_before, 0) <= ?3 AND coalesce(s.backoff_until, 0) <= ?3`
)

func (c Claim) args(now time.Time) ([]any, error) {
	types, err := sqlite.ToJSON(c.Types)
	return []any{types, c.Probe, now, c.Skew}, err
}

// ClaimDue gives leases on due sources, longest due first. more means that some got none.
func (s *Store) ClaimDue(ctx context.Context, c Claim) (leases []Lease, more bool, err error) {
	now := s.now()
	args, err := c.args(now)
	if err != nil {
		return nil, false, err
	}
	// Most ticks find no due source, so check without the writer first.
	some, err := sqlite.One[bool](ctx, s.Conn, `SELECT EXISTS (SELECT 1 FROM sources s WHERE`+due+`)`, args...)
	if err != nil || !some {
		return nil, false, err
	}
	err = s.Write(ctx, func(tx *Tx) error {
		claimed, err := sqlite.List[FetchState](ctx, tx.Conn, `SELECT `+fetchStateColumns+` FROM sources s WHERE`+leased, args[:3]...)
		if err != nil {
			return err
		}
		hosts := map[string]int{} // running fetches
		for _, s := range claimed {
			hosts[c.HostOf(s.Source)]++
		}
		leases, more, err = tx.pick(ctx, c, hosts, args)
		if err != nil {
			return err
		}
		token := c.Owner + "/" + rand.Text()
		for i := range leases {
			if err := tx.lease(ctx, &leases[i], token, now.Add(c.For)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("store: claim: %w", err)
	}
	return leases, more, nil
}

// pick reads due sources until it has enough. A busy host does not block later sources.
func (tx *Tx) pick(ctx context.Context, c Claim, hosts map[string]int, args []any) (leases []Lease, more bool, err error) {
	err = sqlite.Each(ctx, tx.Conn, func(f FetchState) bool {
		host := c.HostOf(f.Source)
		full := len(leases) == c.Max
		if full || host != "" && hosts[host] >= c.PerHost {
			more = true
			return !full
		}
		hosts[host]++
		leases = append(leases, Lease{State: f})
		return true
	}, `SELECT `+fetchStateColumns+` FROM sources s WHERE`+due+` ORDER BY coalesce(s.next_fetch_at, 0), s.id`, args...)
	return leases, more, err
}

func (tx *Tx) lease(ctx context.Context, l *Lease, token string, until time.Time) error {
	l.Token, l.State.ClaimedUntil = token, until
	return tx.Exec(ctx, `UPDATE sources SET claimed_until = ?, claimed_by = ? WHERE id = ?`, until.UnixMilli(), token, l.State.ID)
}

// ClaimSource gives a lease on any source, or returns [ErrClaimed] while another lease is valid.
func (s *Store) ClaimSource(ctx context.Context, id int64, owner string, d time.Duration) (l Lease, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		if l.State, err = tx.FetchState(ctx, id); err != nil {
			return err
		}
		now := tx.now()
		if l.State.Leased(now) {
			return ErrClaimed
		}
		return tx.lease(ctx, &l, owner+"/"+rand.Text(), now.Add(d))
	})
	return l, err
}

// ReturnLease returns a lease without a fetch: the source stays due. A lost lease is not an error.
func (s *Store) ReturnLease(ctx context.Context, l Lease) error {
	_, err := s.run(ctx, `UPDATE sources SET claimed_until = NULL, claimed_by = NULL WHERE id = ? AND claimed_by = ?`, l.State.ID, l.Token)
	return err
}

func (s *Store) run(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		n, err = tx.Run(ctx, query, args...)
		return err
	})
	return n, err
}
