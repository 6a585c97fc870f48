package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/store"
)

func (w *world) addItems(source int64, items ...store.Item) (sum store.Added) {
	w.t.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		sum, err = tx.AddItems(ctx, source, items)
		return err
	})
	return sum
}

func (w *world) titles(start, end time.Time, limit int, sources ...int64) []string {
	w.t.Helper()
	items, err := w.Items(w.t.Context(), sources, start, end, limit)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, it := range items {
		all = append(all, it.Title)
	}
	return all
}

func TestItemsAreKnownAgain(t *testing.T) {
	w := newWorld(t, 2)
	for _, step := range []struct {
		name  string
		items []store.Item
		want  store.Added
	}{
		{"new", []store.Item{{GUID: "g", Title: "one"}, {URL: "https://a.example/x", Title: "two"}, {Title: "three"}}, store.Added{New: 3}},
		{"the same", []store.Item{{GUID: "g", Title: "one"}, {Title: "three"}}, store.Added{Same: 2}},
		{"the same twice in a list", []store.Item{{GUID: "h"}, {GUID: "h"}}, store.Added{New: 1, Same: 1}},
		{"another version", []store.Item{{GUID: "g", Title: "one, corrected"}}, store.Added{Updated: 1}},
		{"another spelling of the URL", []store.Item{
			{URL: "HTTPS://A.example/x?utm_source=feed&utm_medium=rss#top", Title: "two"},
		}, store.Added{Updated: 1}}, // its URL is spelled differently
		{"another page of the site", []store.Item{{URL: "https://a.example/x?page=2"}}, store.Added{New: 1}},
		{"a guid that reads like a URL's key", []store.Item{{GUID: "url:https://a.example/x"}}, store.Added{New: 1}},
	} {
		if got := w.addItems(1, step.items...); got != step.want {
			t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
		}
	}
	if got := w.addItems(2, store.Item{GUID: "g", Title: "one"}); got.New != 1 {
		t.Errorf("another source's guid: %+v, want a new item", got)
	}
}

// The key of an item does not depend on the other items of the list.
func TestSharedGUIDs(t *testing.T) {
	item := func(guid, page string) store.Item {
		return store.Item{GUID: guid, URL: "https://a.example/" + page, Title: page}
	}
	type steps []struct {
		items []store.Item
		want  store.Added
	}
	for name, tt := range map[string]steps{
		"together, then one, then none, then one": {
			{[]store.Item{item("g", "1"), item("g", "2")}, store.Added{New: 2}},
			{[]store.Item{item("g", "2")}, store.Added{Same: 1}}, {nil, store.Added{}}, {[]store.Item{item("g", "1")}, store.Added{Same: 1}},
		},
		"a feed of one item with one guid for ever": {
			{[]store.Item{item("g", "1"), item("g", "2")}, store.Added{New: 2}}, {[]store.Item{item("g", "3")}, store.Added{New: 1}},
		},
		"one, then another beside it": {
			{[]store.Item{item("g", "1")}, store.Added{New: 1}}, {[]store.Item{item("g", "2"), item("g", "1")}, store.Added{New: 1, Same: 1}},
			{[]store.Item{item("g", "2")}, store.Added{Same: 1}}, {[]store.Item{item("g", "1")}, store.Added{Same: 1}},
		},
		"one whose page moves": {
			{[]store.Item{item("g", "1")}, store.Added{New: 1}}, {[]store.Item{item("g", "2")}, store.Added{Updated: 1}},
		},
		"one that is listed twice is not shared": {
			{[]store.Item{item("g", "1"), item("g", "1")}, store.Added{New: 1, Same: 1}}, {[]store.Item{item("g", "2")}, store.Added{Updated: 1}},
		},
		"without pages, the first counts": {
			{[]store.Item{{GUID: "g", Title: "1"}, {GUID: "g", Title: "2"}}, store.Added{New: 1, Same: 1}}, {[]store.Item{{GUID: "g", Title: "2"}}, store.Added{Updated: 1}},
		},
		"a guid that begins like another": {
			{[]store.Item{item("g", "1"), item("g h", "2")}, store.Added{New: 2}}, {[]store.Item{item("g", "3")}, store.Added{Updated: 1}},
		},
		"from http to https": {
			{[]store.Item{{GUID: "http://a.example/1", Title: "1"}, {URL: "http://a.example/2", Title: "2"}, {GUID: "3", URL: "http://a.example/3"}}, store.Added{New: 3}},
			{[]store.Item{{GUID: "https://a.example/1", Title: "1"}, {URL: "https://a.example/2", Title: "2"}, {GUID: "3", URL: "https://a.example/3"}}, store.Added{Same: 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			for i, step := range tt {
				if got := w.addItems(1, step.items...); got != step.want {
					t.Errorf("list %d: %+v, want %+v", i, got, step.want)
				}
			}
		})
	}
}

// An item belongs to the window [start, end) in which it was fetched, not published.
func TestItemsOfAWindow(t *testing.T) {
	w := newWorld(t, 3)
	start, end := noon, noon.Add(time.Hour)
	for _, at := range []struct {
		title string
		when  time.Time
	}{
		{"before", start.Add(-time.Millisecond)}, {"first", start}, {"last", end.Add(-time.Millisecond)}, {"after", end},
	} {
		w.clock.Set(at.when)
		w.addItems(1, store.Item{GUID: at.title, Title: at.title, PublishedAt: noon.AddDate(0, 0, -9)})
	}
	w.clock.Set(start)
	w.addItems(2, store.Item{GUID: "other", Title: "other"})
	w.addItems(3, store.Item{GUID: "not asked for", Title: "not asked for"})
	if diff := cmp.Diff([]string{"first", "last", "other"}, w.titles(start, end, 10, 2, 1)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"last", "other"}, w.titles(start, end, 2, 2, 1)); diff != "" {
		t.Errorf("of two, the newest: %s", diff)
	}
	if got := w.titles(start, end, 10); got != nil {
		t.Errorf("no source has %v", got)
	}
}

func TestNormaliseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://A.example/Path?b=2&a=1#f":       "https://a.example/Path?a=1&b=2",
		"HTTP://a.example/":                      "http://a.example",
		" https://a.example/x?utm_campaign=n ":   "https://a.example/x",
		"https://a.example/x?gclid=1&fbclid=2&q": "https://a.example/x?q=",
		"/relative?b=1&a=2":                      "/relative?b=1&a=2",
		"%zz":                                    "%zz",
	} {
		if got := store.NormaliseURL(in); got != want {
			t.Errorf("NormaliseURL(%q) = %q, want %q", in, got, want)
		}
	}
}
