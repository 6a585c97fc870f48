package track

import (
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// Report is what one run did.
type Report struct {
	Site    string        `json:"site"`
	Started time.Time     `json:"started"`
	Outcome state.Outcome `json:"outcome"`

	// What detection found: new, changed, gone and so on.
	state.Detected

	Pending int `json:"pending"` // due from earlier runs: failed before, or left over
	Skipped int `json:"skipped"` // done, and not looked at
	Failed  int `json:"failed"`  // not fetched this time
	Waiting int `json:"waiting"` // due, and left for the next run

	Published int `json:"published"` // items added to the feed
	Updated   int `json:"updated"`   // items brought up to date
	Unchanged int `json:"unchanged"` // pages whose lastmod had moved and that are the same
	Learned   int `json:"learned"`   // pages whose lastmod had moved, seen for the first time
	Pruned    int `json:"pruned"`    // gone pages that were forgotten

	Sitemaps        int   `json:"sitemaps"`         // known to be the site's
	SitemapFetches  int   `json:"sitemap_fetches"`  // asked for
	SitemapsSkipped int   `json:"sitemaps_skipped"` // not asked for: the index says they have not changed
	NotModified     int   `json:"not_modified"`     // asked for, and have not changed
	PageFetches     int   `json:"page_fetches"`
	Bytes           int64 `json:"bytes"`         // of bodies, from the network
	Saved           int   `json:"saved"`         // fetches that full mode would have made beyond these
	FeedsWritten    int   `json:"feeds_written"` // files whose content has changed

	Rebuilt  bool     `json:"rebuilt,omitempty"`  // the database was lost, and the last good feed taken over
	Restored int      `json:"restored,omitempty"` // items that came from it
	Settled  int      `json:"settled,omitempty"`  // pages made old by hand
	Faults   []string `json:"faults,omitempty"`   // sitemaps that could not be read, or in part

	readable int // sitemaps that are known, if only in part
	full     int // fetches that full mode would make
}

// Fetches is how many sitemaps and pages were asked for.
func (r Report) Fetches() int { return r.SitemapFetches + r.PageFetches }

// faults notes what a walk could not read.
func (r *Report) faults(w sitemap.Report) {
	for _, f := range w.Faults {
		r.Faults = append(r.Faults, f.URL+": "+f.Err.Error())
	}
}
