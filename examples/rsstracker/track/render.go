package track

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// windowFile stores the items of the last good feed, for a new database.
const windowFile = "window.json"

func (r *run) file(name string) string { return filepath.Join(Folder(r.Dir, r.site.Name), name) }

// Folder returns the folder of a site's feeds.
func Folder(dir, site string) string { return filepath.Join(dir, site) }

// render writes the feed if it differs. It does so at every run, because the last run may have been
// killed. Without a baseline it writes nothing: an empty feed would be wrong (E15).
func (r *run) render(ctx context.Context) error {
	if site, err := r.store.Site(ctx, r.site.Name); err != nil || site.Baseline.IsZero() {
		return err
	}
	window, err := r.store.Window(ctx, r.lease.Site.ID, r.site.Window)
	if err != nil || r.full && len(window) == 0 {
		return err
	}
	if err := os.MkdirAll(Folder(r.Dir, r.site.Name), 0o755); err != nil {
		return err
	}
	if r.full { // the time of first publication is unknown, so the page's date replaces it
		for i := range window {
			window[i].Published, window[i].Updated = time.Time{}, time.Time{}
		}
	} else {
		kept, err := json.MarshalIndent(window, "", " ")
		if err != nil {
			return err
		}
		if _, err := r.replace(windowFile, kept); err != nil {
			return err
		}
	}
	body, err := feed.Encode(r.site.Channel, window)
	if err != nil {
		return err
	}
	if r.rep.FeedWritten, err = r.replace(feed.File, body); err != nil {
		return err
	}
	r.rep.Saved = max(0, r.rep.full-r.rep.Fetches())
	if r.Rendered != nil {
		r.Rendered(ctx, r.site.Name)
	}
	return nil
}

// replace replaces a file atomically, also against other runs. It reports whether the content
// differs.
func (r *run) replace(name string, content []byte) (changed bool, err error) {
	r.At("file")
	path := r.file(name)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return false, nil
	}
	sweep(path)
	f, err := os.OpenFile(path+".new"+rand.Text(), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return false, err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // sweep removes it otherwise
	}
	return err == nil, err
}

func sweep(path string) {
	left, _ := filepath.Glob(path + ".new*")
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(name)
		}
	}
}

// Reset deletes everything about a site. Its feeds stay until the next run. A run in
// progress ends with [state.ErrLeaseLost].
func (t *Tracker) Reset(ctx context.Context, site string) error {
	s, err := t.cfg.Keeper.Store(ctx)
	if err != nil {
		return err
	}
	// Remove the window first: if only the rows were gone, the next run would restore it.
	if err := os.Remove(filepath.Join(Folder(t.cfg.Dir, site), windowFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return s.Reset(ctx, site)
}

// Report says what one run did.
type Report struct {
	Site    string        `json:"site"`
	Started time.Time     `json:"started"`
	Outcome state.Outcome `json:"outcome"`
	state.Detected

	Pending        int      `json:"pending"`         // due since earlier runs: failed, or left over
	Skipped        int      `json:"skipped"`         // done, and not fetched
	Failed         int      `json:"failed"`          // could not be fetched
	Waiting        int      `json:"waiting"`         // due, and left for the next run
	Published      int      `json:"published"`       // items added to the feed
	Updated        int      `json:"updated"`         // items changed
	Unchanged      int      `json:"unchanged"`       // pages whose lastmod had increased but whose content had not changed
	Learned        int      `json:"learned"`         // pages whose lastmod had increased but whose old content is unknown
	Pruned         int      `json:"pruned"`          // gone pages that were deleted
	Sitemaps       int      `json:"sitemaps"`        // sitemaps that the site is known to have
	LeftOut        int      `json:"left_out"`        // sitemaps that were not read because of a limit
	SitemapFetches int      `json:"sitemap_fetches"` // requested sitemaps
	NotModified    int      `json:"not_modified"`    // requested sitemaps that had not changed
	PageFetches    int      `json:"page_fetches"`
	Saved          int      `json:"saved"`               // fetches that full mode would have made in addition
	FeedWritten    bool     `json:"feed_written"`        // its content has changed
	Rebuilt        bool     `json:"rebuilt,omitempty"`   // the database was lost and the last good feed restored
	Restored       int      `json:"restored,omitempty"`  // restored items
	Faults         []string `json:"faults,omitempty"`    // sitemaps that could not be read completely
	Permanent      bool     `json:"permanent,omitempty"` // the run failed, and a retry would fail too
	readable       int      // sitemaps that were read at least in part
	full           int      // fetches that full mode would make
}

// Fetches returns the number of requested sitemaps and pages.
func (r Report) Fetches() int { return r.SitemapFetches + r.PageFetches }

// String returns a summary for operators.
func (r Report) String() string {
	return fmt.Sprintf("%s; %d new, %d changed, %d pending, %d skipped, %d failed; %d fetches, %d not modified, %d saved; %d published, %d updated",
		r.Outcome, r.New, r.Changed, r.Pending, r.Skipped, r.Failed, r.Fetches(), r.NotModified, r.Saved, r.Published, r.Updated)
}
