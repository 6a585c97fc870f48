package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Site is what is known of a site. Zero times mean never.
type Site struct {
	ID           int64
	Name         string
	SitemapURL   string
	Created      time.Time
	LastRun      time.Time // began
	LastSuccess  time.Time // ended, perhaps with faults
	LastComplete time.Time // ended, knowing all that the site lists
	LastCleanup  time.Time
	Baseline     time.Time
	Dirty        bool // listings hold what [Store.Detect] has not seen, or must see again
	LeaseOwner   string
	LeaseUntil   time.Time
	vanish       int
}

const siteColumns = `id, name, sitemap_url, created_at, last_run_at, last_success_at, last_complete_at,
	last_cleanup_at, baseline_at, dirty, coalesce(lease_owner, ''), lease_until, vanish_streak`

func scanSite(r row) (s Site, err error) {
	err = r.Scan(&s.ID, &s.Name, &s.SitemapURL, millis{&s.Created}, millis{&s.LastRun}, millis{&s.LastSuccess},
		millis{&s.LastComplete}, millis{&s.LastCleanup}, millis{&s.Baseline}, &s.Dirty, &s.LeaseOwner, millis{&s.LeaseUntil}, &s.vanish)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoSite
	}
	return s, err
}

// Site returns the site of that name, or [ErrNoSite].
func (s *Store) Site(ctx context.Context, name string) (site Site, err error) {
	err = s.read(ctx, func(t tx) error {
		site, err = siteByName(t, name)
		return err
	})
	return site, err
}

func siteByName(t tx, name string) (Site, error) {
	return one(t, scanSite, `SELECT `+siteColumns+` FROM sites WHERE name = ?`, name)
}

// Start says which run is to begin.
type Start struct {
	Site       string
	SitemapURL string        // empty: that of the last run
	Scope      string        // fingerprint of what says which pages are tracked
	Owner      string        // unique to the run
	TTL        time.Duration // of the lease, which every step renews
	Now        time.Time
}

// Lease is the right of one run to change one site. Every step of a run checks and
// renews it, so that of two runs that both believe to have it only one goes on.
type Lease struct {
	Site  Site // when the run began
	Run   int64
	owner string
	ttl   time.Duration
}

// Begin starts a run of a site, which it adds if it is new. While another run has
// the lease it returns [ErrLeased] (S-E13). A run that died keeps its lease until
// that ends.
//
// When the scope differs from that of the last run, everything is read again, and
// what was not tracked before is old, not new.
func (s *Store) Begin(ctx context.Context, st Start) (l Lease, err error) {
	err = s.write(ctx, func(t tx) error {
		site, err := ensure(t, st)
		if err != nil {
			return err
		}
		if site.LeaseUntil.After(st.Now) && site.LeaseOwner != st.Owner {
			return ErrLeased
		}
		if err := t.do(`UPDATE runs SET outcome = 'died', ended_at = ? WHERE site_id = ? AND outcome = 'running'`, ms(st.Now), site.ID); err != nil {
			return err
		}
		run, err := one(t, value[int64], `INSERT INTO runs (site_id, started_at, outcome) VALUES (?, ?, 'running') RETURNING id`, site.ID, ms(st.Now))
		if err != nil {
			return err
		}
		l = Lease{Site: site, Run: run, owner: st.Owner, ttl: st.TTL}
		return t.do(`UPDATE sites SET lease_owner = ?, lease_until = ?, lease_run = ?, last_run_at = ? WHERE id = ?`,
			st.Owner, ms(st.Now.Add(st.TTL)), run, ms(st.Now), site.ID)
	})
	return l, err
}

// ensure returns the site, added or brought up to date.
func ensure(t tx, st Start) (Site, error) {
	if _, err := siteByName(t, st.Site); errors.Is(err, ErrNoSite) {
		if st.SitemapURL == "" {
			return Site{}, fmt.Errorf("%w, and no sitemap URL to add it with", ErrNoSite)
		}
		if err := t.do(`INSERT INTO sites (name, sitemap_url, scope, created_at, updated_at) VALUES (?, ?, ?, ?, ?)`,
			st.Site, st.SitemapURL, st.Scope, ms(st.Now), ms(st.Now)); err != nil {
			return Site{}, err
		}
	} else if err != nil {
		return Site{}, err
	}
	// An empty URL never overwrites the one that is known (S-E8).
	n, err := t.run(`UPDATE sites SET sitemap_url = coalesce(nullif(?2, ''), sitemap_url), scope = ?3, updated_at = ?4,
		dirty = 1, vanish_streak = `+strconv.Itoa(vanishLimit)+` WHERE name = ?1 AND scope <> ?3`, st.Site, st.SitemapURL, st.Scope, ms(st.Now))
	if err == nil && n > 0 {
		err = t.do(`UPDATE files SET hash = '', whole = 0, silent = 1 WHERE site_id = (SELECT id FROM sites WHERE name = ?)`, st.Site)
	}
	if err != nil {
		return Site{}, err
	}
	return siteByName(t, st.Site)
}

// step is write for a run: it fails unless the run still has its lease, and renews
// that.
func (s *Store) step(ctx context.Context, l Lease, now time.Time, fn func(tx) error) error {
	return s.write(ctx, func(t tx) error {
		// Not whether the lease has run out, but whether somebody else took it:
		// a run that is late and alone has done no harm.
		n, err := t.run(`UPDATE sites SET lease_until = max(lease_until, ?) WHERE id = ? AND lease_owner = ? AND lease_run = ?`,
			ms(now.Add(l.ttl)), l.Site.ID, l.owner, l.Run)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrLeaseLost
		}
		return fn(t)
	})
}

// Outcome is how a run ended.
type Outcome string

// The outcomes of a run that did not die.
const (
	OK      Outcome = "ok"
	Partial Outcome = "partial" // some of the site could not be read
	Failed  Outcome = "failed"
)

// End ends a run, keeps its report, which must encode as JSON, and gives the lease
// back. The error's text is kept if there is one.
func (s *Store) End(ctx context.Context, l Lease, now time.Time, o Outcome, report any, cause error) error {
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("state: report: %w", err)
	}
	var failure string
	if cause != nil {
		failure = cause.Error()
	}
	return s.step(ctx, l, now, func(t tx) error {
		if err := t.do(`UPDATE runs SET ended_at = ?, outcome = ?, report = ?, error = ? WHERE id = ?`,
			ms(now), o, string(text), failure, l.Run); err != nil {
			return err
		}
		return t.do(`UPDATE sites SET lease_owner = NULL, lease_until = NULL, lease_run = NULL,
			last_success_at = CASE WHEN ?1 = 'failed' THEN last_success_at ELSE ?2 END,
			last_complete_at = CASE WHEN ?1 = 'ok' THEN ?2 ELSE last_complete_at END WHERE id = ?3`, o, ms(now), l.Site.ID)
	})
}

// Reset forgets everything about a site. A run under way loses its lease.
func (s *Store) Reset(ctx context.Context, name string) error {
	return s.write(ctx, func(t tx) error {
		n, err := t.run(`DELETE FROM sites WHERE name = ?`, name)
		if err == nil && n == 0 {
			err = ErrNoSite
		}
		return err
	})
}
