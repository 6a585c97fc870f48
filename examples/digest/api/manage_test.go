package api_test

import (
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// managed is a source in the form for the operator.
type managed struct {
	ID              int64
	Name, Type      string
	Public, Deleted bool
}

// The operator adds, renames, edits, hides, deletes and restores sources. The hashes and
// the cached data of users follow at once, and no answer shows a config.
func TestManageSources(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news, tech)
	hash := func() string { return read[subscribed](w, ann, "GET /api/subscription-hash", "").Hash }
	want := func(what string, sources ...int64) {
		t.Helper()
		if got := hash(); got != store.Hash(sources) {
			t.Errorf("%s: the hash is %.8s, want that of %v", what, got, sources)
		}
		if found, err := w.store.Verify(t.Context(), false); err != nil || len(found) > 0 {
			t.Errorf("%s: drift %v, %v", what, found, err)
		}
	}
	first := read[written](w, ann, "POST /api/digests", `{"type":"daily"}`)
	added := read[managed](w, operator, "POST /api/admin/sources", `{"name":"New","type":"rss","config":{"url":"https://new.example/?token=hidden"}}`)
	if added.ID != 4 || added.Name != "New" {
		t.Errorf("added %+v", added)
	}
	w.call(ann, "POST /api/subscriptions", `{"source_ids":[4]}`, 200)
	want("added", news, tech, 4)
	w.call(operator, "DELETE /api/admin/sources/2", "", 200)
	want("deleted", news, 4)
	second := read[written](w, ann, "POST /api/digests", `{"type":"daily"}`)
	if second.Hash == first.Hash || strings.Contains(second.Digest.Content, "Told by Tech") {
		t.Errorf("after a source was deleted: %+v", second.Digest)
	}
	w.wantIn(w.call(operator, "GET /api/admin/sources", "", 200), `"name":"Tech"`, `"is_deleted":true`)
	w.call(operator, "POST /api/admin/sources/2/restore", "", 200)
	w.call(ann, "DELETE /api/subscriptions/4", "", 200)
	want("restored", news, tech)
	if third := read[written](w, ann, "POST /api/digests", `{"type":"daily"}`); third.Digest.ID != first.Digest.ID || third.Digest.Content != first.Digest.Content {
		t.Errorf("after it was restored: %+v, want %+v", third.Digest, first.Digest)
	}
	w.call(operator, "PATCH /api/admin/sources/1", `{"name":"Renamed"}`, 200)
	w.wantIn(w.call("", "GET /api/sources", "", 200), "Renamed")
	w.call(operator, "PATCH /api/admin/sources/4", `{"is_public":false}`, 400) // it has no owner
	want("renamed", news, tech)
}

// The error names the faulty field, and nothing is written.
func TestManageRefuses(t *testing.T) {
	w := newWorld(t)
	count := func() int { return strings.Count(w.call(operator, "GET /api/admin/sources", "", 200), `"id"`) }
	before := count()
	for _, tt := range []struct{ call, body, says string }{
		{"POST /api/admin/sources", `{"name":"x"}`, "type"},
		{"POST /api/admin/sources", `{"type":"rss"}`, "name"},
		{"POST /api/admin/sources", `{"name":" ","type":"rss"}`, "name"},
		{"POST /api/admin/sources", `{"name":"x","type":"rss"}`, "config.url"},
		{"POST /api/admin/sources", `{"name":"x","type":"rss","config":{"url":"javascript:hidden"}}`, "http"},
		{"POST /api/admin/sources", `{"name":"x","type":"rss","config":"hidden"}`, "config"},
		{"POST /api/admin/sources", `{"name":"x","type":"rrs","config":{}}`, "type"},
		{"POST /api/admin/sources", `{"name":"x","type":"hackernews","is_public":false}`, "owner_id"},
		{"POST /api/admin/sources", `{"name":"x","type":"hackernews","owner_id":99}`, "owner_id"},
		{"POST /api/admin/sources", `{"name":"x","type":"hackernews","id":7}`, "unknown field"},
		{"PATCH /api/admin/sources/1", `{"name":"Half","type":"nothing"}`, "type"},
		{"PATCH /api/admin/sources/1", `{"name":"Half","config":{"url":7}}`, "config."},
		{"PATCH /api/admin/sources/0", `{"name":"x"}`, "id"},
	} {
		if body := w.call(operator, tt.call, tt.body, 400); !strings.Contains(body, tt.says) {
			t.Errorf("%s %s: %s, want %q named", tt.call, tt.body, body, tt.says)
		}
	}
	w.call(operator, "PATCH /api/admin/sources/99", `{"name":"x"}`, 404)
	w.call(ann, "DELETE /api/admin/sources/1", "", 403)
	if all := w.call(operator, "GET /api/admin/sources", "", 200); count() != before || strings.Contains(all, "Half") {
		t.Errorf("something was written: %s", all)
	}
}

// A user sees the items of visible sources only.
func TestRawItems(t *testing.T) {
	w := newWorld(t)
	type items struct {
		Items []store.Item
		Start string `json:"period_start"`
		Hash  string `json:"subscription_hash"`
	}
	for _, tt := range []struct {
		key, query string
		want       string
	}{
		{operator, "", "Secret Tech News"}, {ann, "", "Secret Tech News"}, {bob, "", "Tech News"},
		{bob, "?source_id=3", ""}, {ann, "?source_id=3", "Secret"}, {operator, "?limit=1", "Secret"}, {operator, "?limit=2&offset=1", "Tech News"},
		{operator, "?since=2026-02-25", ""}, {operator, "?since=2026-02-24T12:00:00Z", "Secret Tech News"},
	} {
		var names []string
		for _, it := range read[items](w, tt.key, "GET /api/raw-items"+tt.query, "").Items {
			names = append(names, strings.TrimPrefix(it.Title, "Told by "))
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s for %s: %s, want %s", tt.query, tt.key, got, tt.want)
		}
	}
	w.subscribe(2, news)
	for query, want := range map[string]int{"": 1, "?type=daily": 1, "?type=4h": 0, "?since=2026-02-24": 1, "?since=2026-02-25": 0, "?limit=1": 1} {
		got := read[items](w, bob, "GET /api/raw-items/for-digest"+query, "")
		if got.Items == nil || len(got.Items) != want || got.Hash != store.Hash([]int64{news}) || got.Start == "" {
			t.Errorf("for-digest%s: %+v, want %d items", query, got, want)
		}
	}
	stats := w.call(bob, "GET /api/raw-items/stats", "", 200)
	w.wantIn(stats, `{"source_id":1,"name":"News","total_items":1,"last_item_at":"2026-02-24T12:00:00Z","items_24h":1}`)
	if strings.Contains(stats, "Secret") {
		t.Errorf("Bob's statistics show a private source: %s", stats)
	}
	w.wantIn(w.call(operator, "GET /api/raw-items/stats", "", 200), "Secret")
	for _, bad := range []string{"?limit=201", "?limit=0", "?offset=-1", "?since=yesterday", "?source_id=x", "?sort=up"} {
		w.call(ann, "GET /api/raw-items"+bad, "", 400)
	}
	for _, bad := range []string{"?limit=501", "?type=hourly", "?since=2026-02-24&type=daily", "?user_id=2"} {
		w.call(ann, "GET /api/raw-items/for-digest"+bad, "", 400)
	}
	w.call(operator, "GET /api/raw-items/for-digest", "", 403)
	for _, path := range []string{"", "/stats", "/for-digest"} {
		w.call("", "GET /api/raw-items"+path, "", 401)
	}
}
