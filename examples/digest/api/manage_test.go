package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

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

// A source with a new address is fetched at once, and no state of the old address remains.
func TestRepointedSourceIsNew(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		if _, err := w.coll.CollectSource(t.Context(), news); err != nil {
			t.Fatal(err)
		}
	}
	w.call(operator, "PATCH /api/admin/sources/1", `{"config":{"url":"https://new.example/"}}`, 200)
	st, err := w.store.FetchState(t.Context(), news)
	if err != nil || !st.LastFetchedAt.IsZero() || !st.NextFetchAt.IsZero() || !st.Active || string(st.Config) != `{"url":"https://new.example/"}` {
		t.Errorf("the state is %+v, %v", st, err)
	}
	if s, err := w.store.Source(t.Context(), news); err != nil || s.Name != "News" || s.Type != "rss" {
		t.Errorf("the source is %+v, %v", s, err)
	}
}

func TestManageUsers(t *testing.T) {
	w := newWorld(t)
	w.subscribe(2, news)
	before := read[written](w, bob, "POST /api/digests", `{"type":"daily"}`)
	w.call(operator, "PATCH /api/admin/users/2", `{"name":"Robert","slug":"robert","options":{"language":"zh"}}`, 200)
	w.wantIn(w.call(operator, "GET /api/admin/users?after=1&limit=5", "", 200), `"name":"Robert"`, `"slug":"robert"`, `"email":"bob@example.com"`)
	after := read[written](w, bob, "POST /api/digests", `{"type":"daily"}`)
	if after.Hash == before.Hash || !strings.Contains(after.Digest.Content, "每日摘要") {
		t.Errorf("with other options: %+v", after.Digest)
	}
	if rec := w.do("", "GET /feed/robert", ""); rec.Code != 200 {
		t.Errorf("the feed has moved, and answers %d", rec.Code)
	}
	w.call(operator, "PATCH /api/admin/users/2", `{"slug":"ann"}`, 409)
	w.call(operator, "DELETE /api/admin/users/2", "", 200)
	w.call(bob, "POST /api/digests", `{"type":"daily"}`, 401) // the key of a deleted user
	if rec := w.do("", "GET /feed/robert", ""); rec.Code != 404 {
		t.Errorf("the feed of a removed user answers %d", rec.Code)
	}
	w.call(operator, "DELETE /api/admin/users/2", "", 404)
	if list, err := w.store.Digests(t.Context(), 2, "", 10); err != nil || len(list) > 0 {
		t.Errorf("%d digests are left, %v", len(list), err)
	}
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
		{"PATCH /api/admin/users/1", `{"email":""}`, "email"},
		{"PATCH /api/admin/users/1", `{"slug":"a.rss"}`, "slug"},
		{"PATCH /api/admin/users/1", `{"name":"Half","options":{"language":"klingon"}}`, "options"},
		{"GET /api/admin/users?limit=0", "", "limit"},
	} {
		if body := w.call(operator, tt.call, tt.body, 400); !strings.Contains(body, tt.says) {
			t.Errorf("%s %s: %s, want %q named", tt.call, tt.body, body, tt.says)
		}
	}
	w.call(operator, "PATCH /api/admin/sources/99", `{"name":"x"}`, 404)
	w.call(ann, "DELETE /api/admin/sources/1", "", 403)
	w.call("", "DELETE /api/admin/users/1", "", 401)
	if all := w.call(operator, "GET /api/admin/sources", "", 200); count() != before || strings.Contains(all, "Half") {
		t.Errorf("something was written: %s", all)
	}
	if users := w.call(operator, "GET /api/admin/users", "", 200); strings.Contains(users, "Half") {
		t.Errorf("something was written: %s", users)
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

// A limit keeps the newest items of all sources.
func TestForDigestLeavesTheNewest(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news, tech)
	w.clock.Set(noon.Add(-20 * time.Hour))
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddItems(ctx, news, []store.Item{{GUID: "late", Title: "Late"}})
		return err
	})
	w.clock.Set(noon)
	for _, query := range []string{"type=daily&limit=1", "since=2026-02-24&limit=1"} {
		got := read[struct{ Items []store.Item }](w, ann, "GET /api/raw-items/for-digest?"+query, "").Items
		if len(got) != 1 || got[0].Title != "Late" {
			t.Errorf("%s: %+v, want the newest", query, got)
		}
	}
}

// A null field in an edit does not change.
func TestNullOptionsStay(t *testing.T) {
	w := newWorld(t)
	w.call(operator, "PATCH /api/admin/users/1", `{"options":{"language":"zh"}}`, 200)
	w.wantIn(w.call(operator, "PATCH /api/admin/users/1", `{"name":null,"options":null}`, 200), `"options":{"language":"zh"}`)
}
