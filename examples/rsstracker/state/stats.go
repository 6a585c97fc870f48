package state

import (
	"context"
	"encoding/json"
	"time"
)

// Stats are the numbers of one site.
type Stats struct {
	Site       string         `json:"site"`
	SitemapURL string         `json:"sitemap_url"`
	Sitemaps   int            `json:"sitemaps"`
	Pages      PageCounts     `json:"pages"`
	Errors     map[string]int `json:"errors,omitempty"` // failed pages, by why
	Items      int            `json:"items"`
	Tombstones int            `json:"tombstones"`
	Running    bool           `json:"running"`
	LastRun    time.Time      `json:"last_run,omitzero"`
	LastOK     time.Time      `json:"last_success,omitzero"`
	LastWhole  time.Time      `json:"last_complete,omitzero"`
	Baseline   time.Time      `json:"baseline,omitzero"`
	Runs       []Run          `json:"runs"` // the last ten, the last one first
}

// PageCounts are pages by state. Gone ones are in none of the other states.
type PageCounts struct {
	Pending int `json:"pending"`
	Ready   int `json:"ready"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	GivenUp int `json:"given_up"` // of the failed
	Gone    int `json:"gone"`
}

// Run is one run that was begun.
type Run struct {
	ID      int64           `json:"id"`
	Started time.Time       `json:"started"`
	Ended   time.Time       `json:"ended,omitzero"`
	Outcome string          `json:"outcome"`
	Error   string          `json:"error,omitempty"`
	Report  json.RawMessage `json:"report"`
}

func scanRun(r row) (v Run, err error) {
	var report string
	err = r.Scan(&v.ID, millis{&v.Started}, millis{&v.Ended}, &v.Outcome, &v.Error, &report)
	v.Report = json.RawMessage(report)
	return v, err
}

// Stats returns the numbers of a site, as of now.
func (s *Store) Stats(ctx context.Context, name string, now time.Time) (st Stats, err error) {
	err = s.read(ctx, func(t tx) error {
		site, err := siteByName(t, name)
		if err != nil {
			return err
		}
		st = Stats{Site: name, SitemapURL: site.SitemapURL, Running: site.LeaseUntil.After(now), LastRun: site.LastRun,
			LastOK: site.LastSuccess, LastWhole: site.LastComplete, Baseline: site.Baseline}
		if st.Pages, err = one(t, scanCounts, `SELECT `+counts+` FROM urls WHERE site_id = ?`, site.ID); err != nil {
			return err
		}
		for _, n := range []struct {
			to    *int
			table string
		}{{&st.Sitemaps, "files"}, {&st.Items, "items"}, {&st.Tombstones, "tombstones"}} {
			if *n.to, err = one(t, value[int], `SELECT count(*) FROM `+n.table+` WHERE site_id = ?`, site.ID); err != nil {
				return err
			}
		}
		if st.Errors, err = errorCounts(t, site.ID); err != nil {
			return err
		}
		st.Runs, err = list(t, scanRun, `SELECT id, started_at, ended_at, outcome, error, report FROM runs WHERE site_id = ? ORDER BY id DESC LIMIT 10`, site.ID)
		return err
	})
	return st, err
}

const counts = `count(*) FILTER (WHERE gone_at IS NULL AND state = 0), count(*) FILTER (WHERE gone_at IS NULL AND state = 3),
	count(*) FILTER (WHERE gone_at IS NULL AND state = 1), count(*) FILTER (WHERE gone_at IS NULL AND state = 2),
	count(*) FILTER (WHERE gone_at IS NULL AND state = 2 AND next_retry_at IS NULL), count(*) FILTER (WHERE gone_at IS NOT NULL)`

func scanCounts(r row) (c PageCounts, err error) {
	err = r.Scan(&c.Pending, &c.Ready, &c.Done, &c.Failed, &c.GivenUp, &c.Gone)
	return c, err
}

// errorCounts returns how many pages failed, by the codes they failed with.
func errorCounts(t tx, site int64) (map[string]int, error) {
	type count struct {
		code string
		n    int
	}
	all, err := list(t, func(r row) (c count, err error) {
		err = r.Scan(&c.code, &c.n)
		return c, err
	}, `SELECT last_error, count(*) FROM urls WHERE site_id = ? AND state = 2 AND gone_at IS NULL GROUP BY last_error`, site)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	m := map[string]int{}
	for _, c := range all {
		m[c.code] = c.n
	}
	return m, nil
}

// Pages returns how many pages of a site are in which state.
func (s *Store) Pages(ctx context.Context, site int64) (c PageCounts, err error) {
	err = s.read(ctx, func(t tx) error {
		c, err = one(t, scanCounts, `SELECT `+counts+` FROM urls WHERE site_id = ?`, site)
		return err
	})
	return c, err
}
