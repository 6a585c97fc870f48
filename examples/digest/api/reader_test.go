package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

type subscribed struct {
	Hash      string  `json:"subscription_hash"`
	Count     int     `json:"source_count"`
	SourceIDs []int64 `json:"source_ids"`
	Offered   int
}

func TestSubscribe(t *testing.T) {
	w := newWorld(t)
	all := store.Hash([]int64{news, tech, secret})
	for _, tt := range []struct {
		key, call, body string
		want            subscribed
	}{
		{ann, "GET /api/subscription-hash", "", subscribed{Hash: store.EmptyHash, SourceIDs: []int64{}}},
		{ann, "POST /api/subscriptions", `{"source_ids":[3,1,3]}`, subscribed{Hash: store.Hash([]int64{1, 3}), Count: 2, SourceIDs: []int64{1, 3}}},
		{ann, "DELETE /api/subscriptions/3", "", subscribed{Hash: store.Hash([]int64{1}), Count: 1, SourceIDs: []int64{1}}},
		{ann, "DELETE /api/subscriptions/3", "", subscribed{Hash: store.Hash([]int64{1}), Count: 1, SourceIDs: []int64{1}}},
		{ann, "POST /api/packs/start/install", "", subscribed{Hash: all, Count: 3, SourceIDs: []int64{1, 2, 3}, Offered: 3}},
		{ann, "GET /api/subscription-hash", "", subscribed{Hash: all, Count: 3, SourceIDs: []int64{1, 2, 3}}},
		// Of the pack, Bob gets only the visible sources.
		{bob, "POST /api/packs/start/install", "", subscribed{Hash: store.Hash([]int64{1, 2}), Count: 2, SourceIDs: []int64{1, 2}, Offered: 2}},
	} {
		if diff := cmp.Diff(tt.want, read[subscribed](w, tt.key, tt.call, tt.body)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.call, tt.body, diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		key, call, body string
		want            int
		names           string
	}{
		{"", "GET /api/subscription-hash", "", 401, "key"},
		{operator, "GET /api/subscription-hash", "", 403, "user's key"},
		{ann, "GET /api/subscription-hash?user=2", "", 400, "user"},
		{"", "POST /api/subscriptions", `{"source_ids":[1]}`, 401, "key"},
		{bob, "POST /api/subscriptions", `{"source_ids":[1,3]}`, 404, "not found"}, // all or none
		{bob, "POST /api/subscriptions", `{"source_ids":[99]}`, 404, "not found"},
		{bob, "POST /api/subscriptions", `{"source_ids":[]}`, 400, "source_ids: 0 ids"},
		{bob, "POST /api/subscriptions", `{"source_ids":["1"]}`, 400, "source_ids: a JSON string, want a whole number"},
		{bob, "POST /api/subscriptions", `{"source_ids":[1.25]}`, 400, "source_ids: a JSON number, want a whole number"},
		{bob, "POST /api/subscriptions", `{"source_ids":[1` + strings.Repeat(",1", 1000) + `]}`, 400, "source_ids: 1001 ids"},
		{bob, "POST /api/subscriptions", `{"sources":[1]}`, 400, "sources"},
		{bob, "POST /api/subscriptions", `[1]`, 400, "body: a JSON array"},
		{bob, "POST /api/subscriptions", `{"source_ids":[1]}{}`, 400, "body: continues"},
		{bob, "POST /api/subscriptions", `{"source_ids":`, 400, "body"},
		{bob, "POST /api/subscriptions", "", 400, "body"},
		{bob, "POST /api/subscriptions", `{"source_ids":[` + strings.Repeat(" ", 64<<10) + `1]}`, 413, "body: over 65536 bytes"},
		{bob, "DELETE /api/subscriptions/0", "", 400, "id"},
		{bob, "DELETE /api/subscriptions/news", "", 400, "id: 4 characters"},
		{"", "DELETE /api/subscriptions/1", "", 401, "key"},
		{bob, "POST /api/packs/none/install", "", 404, "not found"},
		{"", "POST /api/packs/start/install", "", 401, "key"},
		{"wrong", "GET /api/sources", "", 401, "key"},
		{"wrong", "GET /api/packs", "", 401, "key"},
		{"", "GET /api/digests", "", 401, "key"},
		{ann, "GET /api/digests?type=hourly", "", 400, "type"},
		{ann, "GET /api/digests?limit=0", "", 400, "limit"},
		{ann, "GET /api/digests?limit=101", "", 400, "limit"},
		{ann, "GET /api/digests?limit=all", "", 400, "limit"},
		{ann, "GET /api/digests?limit=1&limit=2", "", 400, "limit"},
		{ann, "GET /api/digests?types=daily", "", 400, "types"},
		{"", "POST /api/digests", `{"type":"daily"}`, 401, "key"},
		{ann, "POST /api/digests", `{"type":"hourly"}`, 400, "type"},
		{ann, "POST /api/digests", `{}`, 400, "type"},
	} {
		if body := w.call(tt.key, tt.call, tt.body, tt.want); !strings.Contains(body, tt.names) {
			t.Errorf("%s %.60s: %s does not name %s", tt.call, tt.body, body, tt.names)
		}
	}
	for call, want := range map[string]string{"GET /api/none": "", "PUT /api/digests": "GET, HEAD, POST", "POST /healthz": "GET, HEAD"} {
		rec := w.do("", call, "")
		if status := map[bool]int{true: 404, false: 405}[want == ""]; rec.Code != status || rec.Header().Get("Allow") != want || rec.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, %v; want %d and %q", call, rec.Code, rec.Header(), status, want)
		}
	}
	if s, err := w.store.Subscriptions(t.Context(), 2); err != nil || len(s.SourceIDs) != 0 {
		t.Errorf("a refused call subscribed Bob to %v, %v", s.SourceIDs, err)
	}
}

func TestSources(t *testing.T) {
	w := newWorld(t)
	if err := w.coll.RunOnce(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		key  string
		want []int64
	}{{"", []int64{news, tech}}, {ann, []int64{news, tech, secret}}, {bob, []int64{news, tech}}, {operator, []int64{news, tech}}} {
		got := read[struct{ Sources []map[string]any }](w, tt.key, "GET /api/sources", "").Sources
		var ids []int64
		for _, s := range got {
			ids = append(ids, int64(s["id"].(float64)))
			_, every := s["fetch_interval_minutes"]
			next := s["next_fetch_at"]
			if every != (tt.key != "") || (next == "2026-02-25T16:00:00Z") != (tt.key != "") {
				t.Errorf("%q sees %v", tt.key, s)
			}
		}
		if !slices.Equal(ids, tt.want) {
			t.Errorf("%q sees sources %v, want %v", tt.key, ids, tt.want)
		}
	}
}

type written struct {
	State, Origin string
	Note          string
	Hash          string    `json:"combination_hash"`
	Start         time.Time `json:"period_start"`
	End           time.Time `json:"period_end"`
	Digest        *store.Digest
}

func TestGenerate(t *testing.T) {
	w := newWorld(t)
	const call, daily = "POST /api/digests", `{"type":"daily"}`
	if got := read[written](w, ann, call, daily); got.State != "no_sources" || got.Digest != nil {
		t.Errorf("without sources: %+v", got)
	}
	w.subscribe(1, news)
	w.subscribe(2, news)
	first, again, other := read[written](w, ann, call, daily), read[written](w, ann, call, daily), read[written](w, bob, call, daily)
	if first.Digest == nil || again.Digest == nil || other.Digest == nil {
		t.Fatalf("no digest: %+v, %+v, %+v", first, again, other)
	}
	day := time.Date(2026, time.February, 24, 0, 0, 0, 0, time.UTC)
	if first.State != "ready" || first.Origin != "call" || !first.Start.Equal(day) || !first.End.Equal(day.AddDate(0, 0, 1)) {
		t.Errorf("first: %+v", first)
	}
	if again.Digest.ID != first.Digest.ID || other.Digest.ID == first.Digest.ID || other.Digest.Content != first.Digest.Content || other.Origin == "call" {
		t.Errorf("first %+v, again %+v, Bob's %+v", first.Digest, again.Digest, other.Digest)
	}
	if got := read[written](w, ann, call, `{"type":"4h"}`); got.State != "empty" || got.Digest != nil {
		t.Errorf("of a period without items: %+v", got)
	}
}

func TestGenerateFails(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news)
	w.subscribe(2, news, tech)
	for key, tt := range map[string]struct {
		err         error
		least, most int // seconds
	}{
		ann: {fmt.Errorf("%w: hidden", summary.ErrUnavailable), 60, 60},
		bob: {&summary.RateLimitError{Until: time.Now().Add(time.Hour)}, 3500, 3600}, // a busy machine may take some seconds
	} {
		w.scribe.err = tt.err
		rec := w.do(key, "POST /api/digests", `{"type":"daily"}`)
		after, err := strconv.Atoi(rec.Header().Get("Retry-After"))
		if err != nil || rec.Code != http.StatusServiceUnavailable || after < tt.least || after > tt.most {
			t.Errorf("%d %s, to be tried again after %d s, %v; want %d to %d", rec.Code, rec.Body, after, err, tt.least, tt.most)
		}
	}
}

func TestDigests(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news)
	for _, kind := range []string{"daily", "weekly", "monthly"} {
		w.call(ann, "POST /api/digests", `{"type":"`+kind+`"}`, 200)
	}
	for _, tt := range []struct {
		key, query string
		want       int
	}{{ann, "", 1}, {ann, "?type=daily", 1}, {ann, "?type=weekly", 0}, {ann, "?limit=1", 1}, {bob, "", 0}} {
		got := read[struct{ Digests []store.Digest }](w, tt.key, "GET /api/digests"+tt.query, "").Digests
		if got == nil || len(got) != tt.want {
			t.Errorf("%s: %d digests, want %d: %+v", tt.query, len(got), tt.want, got)
		}
	}
}

// The operator stores a digest with any content. It has no period: the cache neither serves
// nor replaces it. Strangers see it, unless it is private.
func TestGivenContent(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news)
	for _, body := range []string{
		`{"type":"daily","user_id":1}`, `{"type":"daily","user_id":1,"content":" \n"}`, `{"type":"daily","content":"x"}`, `{"type":"hourly","user_id":1,"content":"x"}`,
		`{"user_id":1,"content":"x"}`, `{"type":"daily","user_id":1,"content":"x","metadata":{"source_ids":[1]}}`, `{"type":"daily","user_id":1,"content":"x","metadata":7}`,
		`{"type":"daily","user_id":1,"content":"x","metadata":{"Period_End":"tomorrow"}}`, // package json ignores the case of names
		`{"type":"daily","user_id":1,"content":"x","metadata":{"public":false}}`,
		`{"type":"daily","user_id":1,"content":"x","more":1}`,
	} {
		w.call(operator, "POST /api/digests", body, 400)
	}
	w.call(operator, "POST /api/digests", `{"type":"daily","user_id":99,"content":"x"}`, 404)
	w.call(ann, "POST /api/digests", `{"type":"daily","user_id":2,"content":"x"}`, 403)
	w.call(ann, "POST /api/digests", `{"type":"daily","private":true}`, 403)
	w.call("", "POST /api/digests", `{"type":"daily","user_id":1,"content":"x"}`, 401)
	if got := read[struct{ Digests []store.Digest }](w, ann, "GET /api/digests", "").Digests; len(got) != 0 {
		t.Fatalf("something was written: %+v", got)
	}
	got := read[written](w, operator, "POST /api/digests", `{"type":"daily","user_id":1,"content":"# Given","metadata":{"by":"hand"}}`)
	made := read[written](w, ann, "POST /api/digests", `{"type":"daily"}`)
	if got.Digest.Content != "# Given" || string(got.Digest.Metadata) != `{"by":"hand","public":true}` || made.Digest.ID == got.Digest.ID || made.State != "ready" {
		t.Errorf("given %+v, made %+v", got.Digest, made.Digest)
	}
	hidden := read[written](w, operator, "POST /api/digests", `{"type":"daily","user_id":1,"content":"# Kept","metadata":{"by":"hand"},"private":true}`)
	if string(hidden.Digest.Metadata) != `{"by":"hand"}` {
		t.Errorf("private: %+v", hidden.Digest)
	}
	if list := read[struct{ Digests []store.Digest }](w, ann, "GET /api/digests", "").Digests; len(list) != 3 {
		t.Errorf("there are %d digests, want all three", len(list))
	}
	for _, path := range paths {
		mine, theirs := w.do(ann, "GET "+path, "").Body.String(), w.do("", "GET "+path, "").Body.String()
		w.wantIn(mine, "Given", "Kept")
		w.wantIn(theirs, "Given")
		if strings.Contains(theirs, "Kept") {
			t.Errorf("%s: a stranger reads %s", path, theirs)
		}
	}
}
