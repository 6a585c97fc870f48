package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// Claim says which due sources a collector wants to fetch.
type Claim struct {
	Owner string        // who wants them: a name that no other collector has
	For   time.Duration // how long a lease lasts
	Types []string      // those that can be fetched; sources of others are not even read
	Max   int           // the most leases
	Skew  time.Duration // how much before its time a source may be fetched
	Probe bool          // sources that were paused for their failures are due, too

	// HostOf returns where a source is fetched from, empty if nobody knows, and
	// PerHost is how many sources of one host may be under way, all collectors'
	// together. HostOf must be quick: it runs inside a transaction.
	HostOf  func(Source) string
	PerHost int
}

// Lease is the right to fetch a source until State.ClaimedUntil.
type Lease struct {
	State FetchState // as it was when the lease was given
	Token string     // no two leases of one source have the same
}

// due are the sources that may be claimed. Skew is for the interval alone: neither an
// origin that asked for time nor a back-off is cut short.
const (
	claimable = ` s.is_deleted = 0 AND s.gone = 0 AND s.type IN (SELECT value FROM json_each(?1))
		AND (s.is_active = 1 OR (?2 AND s.paused_at IS NOT NULL))`
	due = claimable + ` AND coalesce(s.next_fetch_at, 0) <= ?3 + ?4 AND coalesce(s.not_before, 0) <= ?3
		AND coalesce(s.backoff_until, 0) <= ?3 AND coalesce(s.claimed_until, 0) <= ?3`
)

// ClaimDue gives out leases on due sources, those that have never been fetched first,
// then in the order in which they became due. More says that there are due sources
// left for which there was no room. A claim that has run out is none: a collector that
// died holds nothing up for longer than that.
func (s *Store) ClaimDue(ctx context.Context, c Claim) (leases []Lease, more bool, err error) {
	types, err := toJSON(c.Types)
	if err != nil {
		return nil, false, err
	}
	now := s.now()
	args := []any{types, c.Probe, now.UnixMilli(), c.Skew.Milliseconds()}
	// Most ticks find nothing, and should not take the writer's turn for that.
	some, err := one(ctx, s.conn, scanValue[bool], `SELECT EXISTS (SELECT 1 FROM sources s WHERE`+due+`)`, args...)
	if err != nil || !some {
		return nil, false, err
	}
	err = s.Write(ctx, func(tx *Tx) error {
		hosts, err := tx.busyHosts(ctx, now, c.HostOf)
		if err != nil {
			return err
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

// busyHosts counts the fetches under way by host.
func (tx *Tx) busyHosts(ctx context.Context, now time.Time, hostOf func(Source) string) (map[string]int, error) {
	claimed, err := list(ctx, tx.conn, scanFetchState, `SELECT `+fetchStateColumns+` FROM sources s WHERE s.claimed_until > ?`, now.UnixMilli())
	hosts := map[string]int{}
	for _, s := range claimed {
		hosts[hostOf(s.Source)]++
	}
	return hosts, err
}

// pick reads due sources until it has enough. A source whose host is busy is passed
// over, and not waited for: it would hold up those behind it.
func (tx *Tx) pick(ctx context.Context, c Claim, hosts map[string]int, args []any) (leases []Lease, more bool, err error) {
	rows, err := tx.db.QueryContext(ctx, `SELECT `+fetchStateColumns+` FROM sources s WHERE`+due+`
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
	return tx.exec(ctx, `UPDATE sources SET claimed_until = ?, claimed_by = ? WHERE id = ?`, until.UnixMilli(), token, l.State.ID)
}

// ClaimSource gives out a lease on one source, due or not, paused or not. It is
// [ErrClaimed] while another is good.
func (s *Store) ClaimSource(ctx context.Context, id int64, owner string, d time.Duration) (l Lease, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		if l.State, err = tx.FetchState(ctx, id); err != nil {
			return err
		}
		if now := tx.now(); l.State.ClaimedUntil.After(now) {
			return ErrClaimed
		}
		return tx.lease(ctx, &l, owner+"/"+rand.Text(), tx.now().Add(d))
	})
	return l, err
}

// ReturnLease gives a lease back without a fetch: the source is as due as it was. A
// lease that was lost is no error.
func (s *Store) ReturnLease(ctx context.Context, l Lease) error {
	return s.Write(ctx, func(tx *Tx) error {
		_, err := tx.run(ctx, `UPDATE sources SET claimed_until = NULL, claimed_by = NULL WHERE id = ? AND claimed_by = ?`,
			l.State.ID, l.Token)
		return err
	})
}

// ReturnLeases gives back all leases of an owner.
func (s *Store) ReturnLeases(ctx context.Context, owner string) error {
	prefix := owner + "/"
	return s.Write(ctx, func(tx *Tx) error {
		_, err := tx.run(ctx, `UPDATE sources SET claimed_until = NULL, claimed_by = NULL
			WHERE claimed_until IS NOT NULL AND substr(claimed_by, 1, ?) = ?`, len(prefix), prefix)
		return err
	})
}
