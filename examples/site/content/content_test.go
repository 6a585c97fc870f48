package content_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/sitetest"
)

func TestMonth(t *testing.T) {
	east := time.FixedZone("east", 8*60*60)
	m := content.MonthOf(time.Date(2026, time.January, 1, 3, 0, 0, 0, east)) // in UTC it is last year
	if m.String() != "2025-12" {
		t.Errorf("the month is %v", m)
	}
	from, to := m.Bounds()
	if content.MonthOf(from) != m || content.MonthOf(to.Add(-1)) != m || content.MonthOf(to).String() != "2026-01" {
		t.Errorf("the month is from %v to %v", from, to)
	}
	if got, err := content.ParseMonth("2025-12"); got != m || err != nil {
		t.Errorf("ParseMonth = %v, %v", got, err)
	}
	for _, s := range []string{"", "2025", "2025-13", "2025-1", "0000-01", "2025-12-01", " 2025-12"} {
		if got, err := content.ParseMonth(s); err == nil {
			t.Errorf("ParseMonth(%q) = %v", s, got)
		}
	}
}

func TestKeys(t *testing.T) {
	key, prefix, secret := content.NewKey()
	if p, s, ok := content.SplitKey(key); p != prefix || s != secret || !ok {
		t.Errorf("SplitKey(%q) = %q, %q, %v", key, p, s, ok)
	}
	k := content.APIKey{Hash: content.HashSecret(secret)}
	if !k.Matches(secret) || k.Matches("") || k.Matches(secret+"x") || (content.APIKey{}).Matches("") {
		t.Error("a key matches what it should not, or not what it should")
	}
	if other, _, _ := content.NewKey(); other == key {
		t.Error("two keys are the same")
	}
}

// every makes every read of r, and hands it what came of it.
func every(t *testing.T, r content.Reader, got func(name string, v any, err error)) {
	t.Helper()
	ctx := t.Context()
	reads := map[string]func() (any, error){
		"Settings":   func() (any, error) { return r.Settings(ctx) },
		"Navigation": func() (any, error) { return r.Navigation(ctx) },
		"PostBySlug": func() (any, error) { return r.PostBySlug(ctx, "feet-first") },
		"PostByID":   func() (any, error) { return r.PostByID(ctx, 1) },
		"PageBySlug": func() (any, error) { return r.PageBySlug(ctx, "about") },
		"ListPosts": func() (any, error) {
			return r.ListPosts(ctx, content.Filter{Lang: "zh"}, content.Window{Number: 1, Size: 3})
		},
		"FeedItems":      func() (any, error) { return r.FeedItems(ctx, content.English, 3) },
		"TagCounts":      func() (any, error) { return r.TagCounts(ctx, content.English) },
		"MonthCounts":    func() (any, error) { return r.MonthCounts(ctx, content.Chinese) },
		"Sitemap":        func() (any, error) { return r.Sitemap(ctx) },
		"APIKeyByPrefix": func() (any, error) { return r.APIKeyByPrefix(ctx, "testkey0") },
	}
	if n := reflect.TypeFor[content.Reader]().NumMethod(); len(reads) != n {
		t.Errorf("there are %d reads, and %d are tried", n, len(reads))
	}
	for name, read := range reads {
		v, err := read()
		got(name, v, err)
	}
}

// A tracked Reader returns what the Reader does, and tells what that depends on.
func TestTrack(t *testing.T) {
	s := sitetest.Seeded(t)
	want := map[string]any{}
	every(t, s, func(name string, v any, err error) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want[name] = v
	})
	entities := map[string][]content.Entity{
		"Settings": {"settings"}, "Navigation": {"navigation"}, "PostByID": {"post:1"}, "PageBySlug": {"page:about"}, "ListPosts": {"posts:zh"},
		"FeedItems": {"feed:en"}, "TagCounts": {"tags:en"}, "MonthCounts": {"months:zh"}, "Sitemap": {"sitemap"}, "APIKeyByPrefix": {"key:testkey0"},
	}
	var told []content.Entity
	r := content.Track(s, func(_ context.Context, e ...content.Entity) { told = append(told, e...) })
	every(t, r, func(name string, v any, err error) {
		if diff := cmp.Diff(want[name], v); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		if p, ok := v.(content.Post); ok && name == "PostBySlug" {
			entities[name] = []content.Entity{"slug:feet-first", content.PostEntity(p.ID)}
		}
		if !slices.Equal(told, entities[name]) {
			t.Errorf("%s depends on %v, want %v", name, told, entities[name])
		}
		told = nil
	})
}

func TestValuesSurviveJSON(t *testing.T) {
	every(t, sitetest.Seeded(t), func(name string, v any, err error) {
		b, err2 := json.Marshal(v)
		back := reflect.New(reflect.TypeOf(v))
		if err != nil || err2 != nil {
			t.Fatal(name, err, err2)
		}
		if err := json.Unmarshal(b, back.Interface()); err != nil {
			t.Error(name, err)
		}
		if !reflect.DeepEqual(v, back.Elem().Interface()) {
			t.Errorf("%s: %s", name, cmp.Diff(v, back.Elem().Interface()))
		}
	})
}
