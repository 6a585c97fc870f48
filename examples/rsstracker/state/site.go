package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// Site is the row of a site. A zero time means never.
type Site struct {
	ID           int64     `json:"-"`
	Name         string    `json:"site"`
	SitemapURL   string    `json:"sitemap_url,omitempty" db:"sitemap_url"`
	LastRun      time.Time `json:"last_run,omitzero" db:"last_run_at"`           // start of the last run
	LastSuccess  time.Time `json:"last_success,omitzero" db:"last_success_at"`   // end of the last run that did not fail, perhaps with faults
	LastComplete time.Time `json:"last_complete,omitzero" db:"last_complete_at"` // end of the last run that read everything that the site lists
	LastCleanup  time.Time `json:"last_cleanup,omitzero" db:"last_cleanup_at"`
	Baseline     time.Time `json:"baseline,omitzero" db:"baseline_at"`
	LeaseUntil   time.Time `json:"-"`
	VanishStreak int       `json:"-"` // runs in a row in which too many pages were missing
}

const siteColumns = `id, name, sitemap_url, last_run_at, last_success_at, last_complete_at, last_cleanup_at, baseline_at, lease_until, vanish_streak`

// Site returns the site of that name, or [ErrNoSite].
func (s *Store) Site(ctx context.Context, name string) (Site, error) {
	return siteByName(tx{s.db.Conn, ctx}, name)
}

func siteByName(t tx, name string) (Site, error) {
	s, err := sqlite.One[Site](t.ctx, t.Conn, `SELECT `+siteColumns+` FROM sites WHERE name = ?`, name)
	if errors.Is(err, sqlite.ErrNotFound) {
		err = ErrNoSite
	}
	return s, err
}

// Start describes the run to begin.
type Start struct {
	Site       string
	SitemapURL string        // empty means as in the last run
	Scope      string        // fingerprint of the fields that select the tracked pages
	TTL        time.Duration // of the lease; every step renews it
	Now        time.Time
}

// Lease is the right of one run to change a site. Every step of the run checks it and renews it.
type Lease struct {
	Site Site // as of the start of the run
	Run  int64
	ttl  time.Duration
}

// Begin starts a run of a site, and adds the site if it is new. While another run has the
// lease it returns [ErrLeased] (S-E13). It ignores a lease that ends after Now + TTL,
// because a wrong clock wrote it.
func (s *Store) Begin(ctx context.Context, st Start) (l Lease, err error) {
	err = s.write(ctx, func(t tx) error {
		site, err := ensure(t, st)
		if err != nil {
			return err
		}
		if site.LeaseUntil.After(st.Now) && !site.LeaseUntil.After(st.Now.Add(st.TTL)) {
			return ErrLeased
		}
		if err := t.do(`UPDATE runs SET outcome = 'died', ended_at = ? WHERE site_id = ? AND outcome = 'running'`, st.Now, site.ID); err != nil {
			return err
		}
		run, err := sqlite.One[int64](t.ctx, t.Conn,
			`INSERT INTO runs (site_id, started_at, outcome) VALUES (?, ?, 'running') RETURNING id`, site.ID, st.Now)
		if err != nil {
			return err
		}
		l = Lease{Site: site, Run: run, ttl: st.TTL}
		return t.do(`UPDATE sites SET lease_until = ?, lease_run = ?, last_run_at = ? WHERE id = ?`,
			st.Now.Add(st.TTL), run, st.Now, site.ID)
	})
	return l, err
}

func ensure(t tx, st Start) (Site, error) {
	if st.SitemapURL != "" {
		if err := t.do(`INSERT INTO sites (name, sitemap_url, scope, created_at, updated_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			st.Site, st.SitemapURL, st.Scope, st.Now, st.Now); err != nil {
			return Site{}, err
		}
	}
	// An empty URL never overwrites the stored one (S-E8).
	n, err := t.run(`UPDATE sites SET sitemap_url = coalesce(nullif(?2, ''), sitemap_url), scope = ?3, updated_at = ?4,
		vanish_streak = `+strconv.Itoa(vanishLimit)+` WHERE name = ?1 AND scope <> ?3`, st.Site, st.SitemapURL, st.Scope, st.Now)
	if err == nil && n > 0 {
		err = t.do(`UPDATE files SET silent = 1 WHERE site_id = (SELECT id FROM sites WHERE name = ?)`, st.Site)
	}
	if err != nil {
		return Site{}, err
	}
	return siteByName(t, st.Site)
}

// step is write for a run. It renews the lease, even if expired, unless another run has it.
func (s *Store) step(ctx context.Context, l Lease, now time.Time, fn func(tx) error) error {
	return s.write(ctx, func(t tx) error {
		n, err := t.run(`UPDATE sites SET lease_until = ? WHERE id = ? AND lease_run = ?`, now.Add(l.ttl), l.Site.ID, l.Run)
		if err == nil && n == 0 {
			err = ErrLeaseLost
		}
		if err != nil {
			return err
		}
		return fn(t)
	})
}

// Outcome is the result of a run.
type Outcome string

// The outcomes of a run that was not killed.
const (
	OK      Outcome = "ok"
	Partial Outcome = "partial" // part of the site could not be read
	Failed  Outcome = "failed"
)

// End ends a run, stores its report as JSON, and releases the lease. cause may be nil.
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
			now, o, string(text), failure, l.Run); err != nil {
			return err
		}
		return t.do(`UPDATE sites SET lease_until = NULL, lease_run = NULL,
			last_success_at = CASE WHEN ?1 = 'failed' THEN last_success_at ELSE ?2 END,
			last_complete_at = CASE WHEN ?1 = 'ok' THEN ?2 ELSE last_complete_at END WHERE id = ?3`, o, now, l.Site.ID)
	})
}

// Reset deletes everything about a site. A run in progress loses its lease.
func (s *Store) Reset(ctx context.Context, name string) error {
	return s.write(ctx, func(t tx) error {
		n, err := t.run(`DELETE FROM sites WHERE name = ?`, name)
		if err == nil && n == 0 {
			err = ErrNoSite
		}
		return err
	})
}
