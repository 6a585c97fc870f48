package track

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// windowFile holds the items of the last good feed, beside the feeds: from it the
// feed goes on when the database is lost.
const windowFile = "window.json"

func (r *run) folder() string { return Folder(r.Dir, r.site.Name) }

// Folder returns where the feeds of a site are written.
func Folder(dir, site string) string { return filepath.Join(dir, site) }

// render writes the feeds, each atomically, and only those that differ from what is
// there: it is done at every run, also when nothing was published, because the run
// before may have died before it got here.
func (r *run) render(ctx context.Context) error {
	window, err := r.store.Window(ctx, r.lease.Site.ID, r.site.Items())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.folder(), 0o755); err != nil {
		return err
	}
	kept, err := json.MarshalIndent(window, "", " ")
	if err != nil {
		return err
	}
	files := map[string][]byte{windowFile: kept}
	for _, f := range feed.Formats {
		if files[f.File()], err = feed.Encode(f, r.site.Channel, ToFeed(window)); err != nil {
			return err
		}
	}
	for _, name := range []string{windowFile, feed.RSS.File(), feed.Atom.File(), feed.JSON.File()} {
		r.At("file")
		changed, err := replace(filepath.Join(r.folder(), name), files[name])
		if err != nil {
			return err
		}
		if changed && name != windowFile {
			r.rep.FeedsWritten++
		}
	}
	r.rep.Saved = max(0, r.rep.full-r.rep.Fetches())
	if r.Rendered != nil {
		r.Rendered(ctx, r.site.Name)
	}
	return nil
}

// ToFeed returns items as package feed wants them.
func ToFeed(window []state.Item) []feed.Item {
	all := make([]feed.Item, len(window))
	for n, i := range window {
		all[n] = feed.Item{GUID: i.GUID, URL: i.URL, Title: i.Title, Description: i.Description, Date: i.Date, Published: i.PublishedAt, Updated: i.UpdatedAt}
	}
	return all
}

// readWindow returns the items of the last good feed.
func readWindow(folder string) (window []state.Item, err error) {
	b, err := os.ReadFile(filepath.Join(folder, windowFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &window); err != nil {
		return nil, fmt.Errorf("track: %s: %w", windowFile, err)
	}
	return window, nil
}

// replace puts content in the place of a file, so that whoever reads it gets the old
// one or the new one, whenever the process dies. It reports whether they differ. The
// site's lease keeps others from writing the same file.
func replace(path string, content []byte) (changed bool, err error) {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return false, nil
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return false, err
	}
	_, err = f.Write(content)
	for _, step := range []func() error{f.Sync, f.Close} {
		if e := step(); err == nil {
			err = e
		}
	}
	if err != nil {
		return false, err
	}
	return true, os.Rename(f.Name(), path)
}

// Reset forgets all about a site, the window that would restore it included: its next
// run is the first. Its feeds stay as they are until then. A run under way ends with
// [state.ErrLeaseLost].
func (t *Tracker) Reset(ctx context.Context, site string) error {
	s, err := t.cfg.Keeper.Store(ctx)
	if err != nil {
		return err
	}
	if err := s.Reset(ctx, site); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(Folder(t.cfg.Dir, site), windowFile)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
