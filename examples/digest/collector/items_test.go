package collector_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// list makes the rss source list these titles, and fetches it.
func (w *world) list(c *collector.Collector, titles ...string) {
	w.Helper()
	w.fakes["rss"].set(listing(titles...), nil)
	w.clock.add(4 * time.Hour)
	w.once(c)
}

// versions returns all rows of a source as "title version".
func (w *world) versions(id int64) (all []string) {
	w.Helper()
	_, readers := w.db.Pools()
	rows, err := readers.QueryContext(w.Context(), `SELECT title, version FROM raw_items WHERE source_id = ? ORDER BY id`, id)
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var title string
		var version int
		if err := rows.Scan(&title, &version); err != nil {
			w.Fatal(err)
		}
		all = append(all, fmt.Sprint(title, " ", version))
	}
	if err := rows.Err(); err != nil {
		w.Fatal(err)
	}
	return all
}

func TestItemsAreStoredOnce(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	c := w.collector()
	w.list(c, "a", "b")
	w.list(c, "b", "c")
	w.list(c, "b", "c/edited", "a")         // a comes back
	w.list(c, "d/one", "d/two", "c/edited") // one guid twice in a listing
	w.list(c, "d/one", "d/two", "c/edited", "e")
	want := []string{"a 1", "b 1", "c 1", "c/edited 2", "d/one 1", "e 1"}
	if diff := cmp.Diff(want, w.versions(id)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := c.Counts(); n.New != 5 || n.Updated != 1 || n.Succeeded != 5 {
		t.Errorf("counts: %+v", n)
	}
}

// clean cleans, and keeps items for a number of days.
func (w *world) clean(days int) store.Cleaned {
	w.Helper()
	got, err := w.db.Clean(w.Context(), w.clock.now().AddDate(0, 0, -days))
	if err != nil {
		w.Fatal(err)
	}
	return got
}

func TestCleaning(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	deleted := w.add("hackernews", "")
	w.fakes["hackernews"].set(listing("of a deleted source"), nil)
	c := w.collector()
	w.list(c, "gone for long", "gone a while ago", "listed all along", "edited")
	day := 24 * time.Hour
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSource(ctx, deleted) })
	w.clock.add(10 * day)
	w.list(c, "gone a while ago", "listed all along", "edited/again")
	w.clock.add(25 * day)
	if got := w.clean(30); got.Items != 3 || got.Logs == 0 {
		t.Errorf("cleaned %+v, want 3 items", got)
	}
	if diff := cmp.Diff([]string{"gone a while ago 1", "listed all along 1", "edited/again 2"}, w.versions(id)); diff != "" {
		t.Errorf("after 35 days (-want +got):\n%s", diff)
	}
	// Months without a change: the origin sends 304, and the listed items stay.
	w.fakes["rss"].set(fetchers.Result{NotModified: true, Seen: "x"}, nil)
	w.clock.add(100 * day)
	w.once(c)
	if got := w.clean(30); got.Items != 0 {
		t.Errorf("cleaned %+v of the listed items", got)
	}
	w.list(c, "listed all along", "edited/again")
	if got := w.clean(30); got.Items != 0 {
		t.Errorf("cleaned %+v, which the feed dropped a moment ago", got)
	}
	w.clock.add(31 * day)
	if got := w.clean(30); got.Items != 1 {
		t.Errorf("cleaned %+v, want the items that are no longer listed", got)
	}
	before := c.Counts().New
	w.list(c, "listed all along", "edited/again", "new")
	if got := c.Counts().New - before; got != 1 {
		t.Errorf("%d new items, want 1: a cleaned item came back as new", got)
	}
}
