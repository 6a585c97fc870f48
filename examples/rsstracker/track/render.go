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

// windowFile holds the items of the last good feed, for a new database.
const windowFile = "window.json"

func (r *run) file(name string) string { return filepath.Join(Folder(r.Dir, r.site.Name), name) }

// Folder returns where the feeds of a site are written.
func Folder(dir, site string) string { return filepath.Join(dir, site) }

// render writes the feeds that differ. It does so at every run, because the run before may have died. Without a baseline
// it writes nothing: an empty feed would be wrong (E15).
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
	if r.full { // it does not know when an item was published first: the page's date stands for that
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
	for _, f := range feed.Formats {
		body, err := feed.Encode(f, r.site.Channel, window)
		if err != nil {
			return err
		}
		changed, err := r.replace(f.File(), body)
		if err != nil {
			return err
		}
		if changed {
			r.rep.FeedsWritten++
		}
	}
	r.rep.Saved = max(0, r.rep.full-r.rep.Fetches())
	if r.Rendered != nil {
		r.Rendered(ctx, r.site.Name)
	}
	return nil
}

// replace puts a file in place in one step, and reports whether it differs. Two runs may do so at once.
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
		_ = os.Remove(f.Name()) // or sweep does it
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

// Reset forgets all about a site. Its feeds stay until the next run. A run under way ends with [state.ErrLeaseLost].
func (t *Tracker) Reset(ctx context.Context, site string) error {
	s, err := t.cfg.Keeper.Store(ctx)
	if err != nil {
		return err
	}
	// The window goes first: without the rows, it would restore what is to be forgotten.
	if err := os.Remove(filepath.Join(Folder(t.cfg.Dir, site), windowFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return s.Reset(ctx, site)
}

// Report is what one run did.
type Report struct {
	Site    string        `json:"site"`
	Started time.Time     `json:"started"`
	Outcome state.Outcome `json:"outcome"`
	state.Detected

	Pending        int      `json:"pending"`         // due from earlier runs: failed before, or left over
	Skipped        int      `json:"skipped"`         // done, and not looked at
	Failed         int      `json:"failed"`          // not fetched this time
	Waiting        int      `json:"waiting"`         // due, and left for the next run
	Published      int      `json:"published"`       // items added to the feed
	Updated        int      `json:"updated"`         // items brought up to date
	Unchanged      int      `json:"unchanged"`       // pages whose lastmod had moved and that are the same
	Learned        int      `json:"learned"`         // pages whose lastmod had moved, seen for the first time
	Pruned         int      `json:"pruned"`          // gone pages that were forgotten
	Sitemaps       int      `json:"sitemaps"`        // known to be the site's
	SitemapFetches int      `json:"sitemap_fetches"` // asked for
	NotModified    int      `json:"not_modified"`    // asked for, and have not changed
	PageFetches    int      `json:"page_fetches"`
	Saved          int      `json:"saved"`              // fetches that full mode would have made beyond these
	FeedsWritten   int      `json:"feeds_written"`      // files whose content has changed
	Rebuilt        bool     `json:"rebuilt,omitempty"`  // the database was lost, and the last good feed taken over
	Restored       int      `json:"restored,omitempty"` // items that came from it
	Faults         []string `json:"faults,omitempty"`   // sitemaps that could not be read, or in part
	readable       int      // sitemaps that are known, if only in part
	full           int      // fetches that full mode would make
}

// Fetches is how many sitemaps and pages were asked for.
func (r Report) Fetches() int { return r.SitemapFetches + r.PageFetches }

// String returns the numbers that an operator looks for.
func (r Report) String() string {
	return fmt.Sprintf("%s; %d new, %d changed, %d pending, %d skipped, %d failed; %d fetches, %d not modified, %d saved; %d published, %d updated",
		r.Outcome, r.New, r.Changed, r.Pending, r.Skipped, r.Failed, r.Fetches(), r.NotModified, r.Saved, r.Published, r.Updated)
}
