package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// Claim says which due sources a collector wants to fetch.
type Claim struct {
	Owner string        // who wants them: a name that no other collector has
	For   time.Duration // how long a lease lasts
	Types []string      // those that can be fetched; sources of others are not even read
	Max   int           // the most leases
	Skew  time.Duration // how much before its time a source may be fetched
	Probe bool          // sources that were paused for their failures are due, too
	// Wait and ProbeWait are the longest waits of active and paused sources. Later times are a wrong clock's, and not believed.
	Wait, ProbeWait time.Duration
	// HostOf returns where a source is fetched from, quickly: it runs inside a transaction. PerHost bounds the fetches from one host.
	HostOf  func(Source) string
	PerHost int
}

// Lease is the right to fetch a source until State.ClaimedUntil.
type Lease struct {
	State FetchState // as it was when the lease was given
	Token string     // no two leases of one source have the same
}

// due are the sources that may be claimed. Skew shortens the interval alone, and no back-off.
const (
	claimable = ` s.is_deleted = 0 AND s.gone = 0 AND s.type IN (SELECT value FROM json_each(?1))
		AND (s.is_active = 1 OR (?2 AND s.paused_at IS NOT NULL))`
	leased = ` coalesce(s.claimed_until, 0) > ?3 AND s.claimed_until <= ?3 + ?5`
	future = ` coalesce(s.next_fetch_at, 0) > ?3 + max(coalesce(s.interval_ms, 0), iif(s.is_active, ?6, ?7))`
	due    = claimable + ` AND NOT (` + leased + `) AND (` + future + ` OR coalesce(s.next_fetch_at, 0) <= ?3 + ?4
		AND coalesce(s.not_before, 0) <= ?3 AND coalesce(s.backoff_until, 0) <= ?3)`
)

func (c Claim) args(now time.Time) ([]any, error) {
	types, err := sqlite.ToJSON(c.Types)
	return []any{
		types, c.Probe, now.UnixMilli(), c.Skew.Milliseconds(),
		c.For.Milliseconds(), c.Wait.Milliseconds(), c.ProbeWait.Milliseconds(),
	}, err
}

// ClaimDue gives out leases on due sources, in the order in which they became due. More says that some had no room.
func (s *Store) ClaimDue(ctx context.Context, c Claim) (leases []Lease, more bool, err error) {
	now := s.now()
	args, err := c.args(now)
	if err != nil {
		return nil, false, err
	}
	// Most ticks find nothing, and should not take the writer's turn for that.
	some, err := sqlite.One(ctx, s.Conn, sqlite.Value[bool], `SELECT EXISTS (SELECT 1 FROM sources s WHERE`+due+`)`, args...)
	if err != nil || !some {
		return nil, false, err
	}
	err = s.Write(ctx, func(tx *Tx) error {
		claimed, err := sqlite.List(ctx, tx.Conn, scanFetchState, `SELECT `+fetchStateColumns+` FROM sources s WHERE`+leased, args[:5]...)
		if err != nil {
			return err
		}
		hosts := map[string]int{} // fetches under way
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

// pick reads due sources until it has enough. A source whose host is busy holds up nothing behind it.
func (tx *Tx) pick(ctx context.Context, c Claim, hosts map[string]int, args []any) (leases []Lease, more bool, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+fetchStateColumns+` FROM sources s WHERE`+due+`
		ORDER BY coalesce(s.next_fetch_at, 0), s.id`, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		if len(leases) == c.Max {
			return leases, true, nil
		}
		f, err := scanFetchState(rows)
		if err != nil {
			return nil, false, err
		}
		host := c.HostOf(f.Source)
		if host != "" && hosts[host] >= c.PerHost {
			more = true
			continue
		}
		hosts[host]++
		leases = append(leases, Lease{State: f})
	}
	return leases, more, rows.Err()
}

func (tx *Tx) lease(ctx context.Context, l *Lease, token string, until time.Time) error {
	l.Token, l.State.ClaimedUntil = token, until
	return tx.Exec(ctx, `UPDATE sources SET claimed_until = ?, claimed_by = ? WHERE id = ?`, until.UnixMilli(), token, l.State.ID)
}

// ClaimSource gives out a lease on one source, due or not. It is [ErrClaimed] while another is good.
func (s *Store) ClaimSource(ctx context.Context, id int64, owner string, d time.Duration) (l Lease, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		if l.State, err = tx.FetchState(ctx, id); err != nil {
			return err
		}
		now := tx.now()
		if l.State.Leased(now, d) {
			return ErrClaimed
		}
		return tx.lease(ctx, &l, owner+"/"+rand.Text(), now.Add(d))
	})
	return l, err
}

// ReturnLease gives a lease back without a fetch: the source is as due as it was. A lease that was lost is no error.
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
