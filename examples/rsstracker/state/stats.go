package state

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// Stats are the statistics of one site.
type Stats struct {
	Site
	Sitemaps   int        `json:"sitemaps"`
	Pages      PageCounts `json:"pages"`
	Items      int        `json:"items"`
	Tombstones int        `json:"tombstones"`
	Running    bool       `json:"running"`
	Runs       []Run      `json:"runs"` // the last ten, newest first
}

// PageCounts counts pages by state. A gone page counts only as Gone.
type PageCounts struct {
	Pending int `json:"pending"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	GivenUp int `json:"given_up"` // also counted in Failed
	Gone    int `json:"gone"`
}

// Run is one run that was started.
type Run struct {
	ID      int64           `json:"id"`
	Started time.Time       `json:"started" db:"started_at"`
	Ended   time.Time       `json:"ended,omitzero" db:"ended_at"`
	Outcome string          `json:"outcome"`
	Error   string          `json:"error,omitempty"`
	Report  json.RawMessage `json:"report"`
}

// Stats returns the statistics of sites. They are zero for a site that never ran.
func (s *Store) Stats(ctx context.Context, now time.Time, names ...string) ([]Stats, error) {
	all := []Stats{}
	for _, name := range names {
		st := Stats{Site: Site{Name: name}}
		if err := s.stats(ctx, now, &st); err != nil && !errors.Is(err, ErrNoSite) {
			return nil, err
		}
		all = append(all, st)
	}
	return all, nil
}

func (s *Store) stats(ctx context.Context, now time.Time, st *Stats) error {
	return s.db.Read(ctx, func(c sqlite.Conn) error {
		t := tx{c, ctx}
		site, err := siteByName(t, st.Name)
		if err != nil {
			return err
		}
		st.Site, st.Running = site, site.LeaseUntil.After(now) && !site.LastRun.After(now)
		if st.Pages, err = pages(ctx, c, site.ID); err != nil {
			return err
		}
		for table, n := range map[string]*int{"files": &st.Sitemaps, "items": &st.Items, "tombstones": &st.Tombstones} {
			if *n, err = t.number(`SELECT count(*) FROM `+table+` WHERE site_id = ?`, site.ID); err != nil {
				return err
			}
		}
		st.Runs, err = sqlite.List[Run](ctx, c, `SELECT id, started_at, ended_at, outcome, error, report
			FROM runs WHERE site_id = ? ORDER BY id DESC LIMIT 10`, site.ID)
		return err
	})
}

func pages(ctx context.Context, c sqlite.Conn, site int64) (PageCounts, error) {
	return sqlite.One[PageCounts](ctx, c, `SELECT count(*) FILTER (WHERE gone_at IS NULL AND state = 0) AS pending,
		count(*) FILTER (WHERE gone_at IS NULL AND state = 1) AS done, count(*) FILTER (WHERE gone_at IS NULL AND state = 2) AS failed,
		count(*) FILTER (WHERE gone_at IS NULL AND state = 2 AND next_retry_at IS NULL) AS given_up,
		count(*) FILTER (WHERE gone_at IS NOT NULL) AS gone FROM urls WHERE site_id = ?`, site)
}

// Pages counts the pages of a site by state.
func (s *Store) Pages(ctx context.Context, site int64) (PageCounts, error) {
	return pages(ctx, s.db.Conn, site)
}
