package setup_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/setup"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

const example = `{
	"sources": [
		{"name": "News", "type": "rss", "config": {"url": "https://news.example/feed"}},
		{"name": "Top", "type": "hackernews"},
		{"name": "Work", "type": "rss", "config": {"url": "https://work.example/?token=x"}, "private_to": "ann"}
	],
	"packs": [{"slug": "start", "name": "Start", "default": true, "sources": ["News"]}, {"slug": "tech", "name": "Tech", "sources": ["Top"]}],
	"users": [
		{"slug": "ann", "name": "Ann", "email": "ann@example.com", "options": {"language": "zh"}, "packs": ["tech"], "sources": ["Work"]},
		{"slug": "bob", "name": "Bob", "email": "bob@example.com"}
	]
}`

func read(t *testing.T, text string) setup.File {
	t.Helper()
	f, err := setup.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sources(t *testing.T, s *store.Store, slug string) []int64 {
	t.Helper()
	u, err := s.UserBySlug(t.Context(), slug)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := s.Subscriptions(t.Context(), u.ID)
	if err != nil {
		t.Fatal(err)
	}
	return sub.SourceIDs
}

func TestImport(t *testing.T) {
	s := storetest.New(t, nil)
	done, err := setup.Import(t.Context(), s, read(t, example))
	if err != nil {
		t.Fatal(err)
	}
	if done.Sources != 3 || done.Packs != 2 || done.Users != 2 {
		t.Errorf("done = %+v", done)
	}
	if got := sources(t, s, "ann"); !cmp.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("Ann reads %v", got)
	}
	if got := sources(t, s, "bob"); !cmp.Equal(got, []int64{1}) {
		t.Errorf("Bob reads %v", got)
	}
	ann, err := s.UserByKey(t.Context(), done.Keys["ann"])
	if err != nil || ann.Slug != "ann" {
		t.Errorf("the key is that of %q, %v", ann.Slug, err)
	}
	if o, err := digest.ParseOptions(ann.Options); err != nil || o.Language != "zh" {
		t.Errorf("options %+v, %v", o, err)
	}
	if work, err := s.Source(t.Context(), 3); err != nil || work.Public || work.OwnerID != ann.ID {
		t.Errorf("the private source is %+v, %v", work, err)
	}
}

// A second import adds only the new entries of the file.
func TestImportAgain(t *testing.T) {
	s := storetest.New(t, nil)
	f := read(t, example)
	if _, err := setup.Import(t.Context(), s, f); err != nil {
		t.Fatal(err)
	}
	f.Sources = append(f.Sources, setup.Source{Name: "More", Type: "rss", Config: []byte(`{"url":"https://more.example/"}`)})
	f.Users[1].Sources = []string{"More"}
	done, err := setup.Import(t.Context(), s, f)
	if err != nil || done.Sources != 1 || done.Packs != 0 || done.Users != 0 || len(done.Keys) != 0 {
		t.Errorf("done = %+v, %v", done, err)
	}
	if got := sources(t, s, "bob"); !cmp.Equal(got, []int64{1, 4}) {
		t.Errorf("Bob reads %v", got)
	}
	if found, err := s.Verify(t.Context(), false); err != nil || len(found) != 0 {
		t.Errorf("drift: %v, %v", found, err)
	}
}

// What a user has ended stays ended, even if the file still lists it.
func TestImportRevivesNoSubscription(t *testing.T) {
	s := storetest.New(t, nil)
	f := read(t, example)
	if _, err := setup.Import(t.Context(), s, f); err != nil {
		t.Fatal(err)
	}
	ann, err := s.UserBySlug(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.Unsubscribe(t.Context(), ann.ID, 2, 3) }); err != nil {
		t.Fatal(err)
	}
	if _, err := setup.Import(t.Context(), s, f); err != nil {
		t.Fatal(err)
	}
	if got := sources(t, s, "ann"); !cmp.Equal(got, []int64{1}) {
		t.Errorf("Ann reads %v", got)
	}
	packs, err := s.Packs(t.Context(), ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packs {
		if want := map[string]int64{"start": 2, "tech": 1}[p.Slug]; p.InstallCount != want {
			t.Errorf("pack %s was installed %d times, want %d", p.Slug, p.InstallCount, want)
		}
	}
}

// A source that the operator has deleted is not added a second time.
func TestImportRevivesNoSource(t *testing.T) {
	s := storetest.New(t, nil)
	f := read(t, example)
	if _, err := setup.Import(t.Context(), s, f); err != nil {
		t.Fatal(err)
	}
	change := func(fn func(*store.Tx, context.Context, int64) error) {
		t.Helper()
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return fn(tx, t.Context(), 2) }); err != nil {
			t.Fatal(err)
		}
	}
	change((*store.Tx).DeleteSource)
	f.Users = append(f.Users, setup.User{Slug: "cy", Name: "Cy", Email: "cy@example.com", Packs: []string{"tech"}, Sources: []string{"Top"}})
	done, err := setup.Import(t.Context(), s, f)
	if err != nil || done.Sources != 0 || done.Users != 1 || !cmp.Equal(done.Deleted, map[string]int64{"Top": 2}) {
		t.Errorf("done = %+v, %v", done, err)
	}
	if got := sources(t, s, "cy"); !cmp.Equal(got, []int64{1}) {
		t.Errorf("Cy reads %v", got)
	}
	change((*store.Tx).RestoreSource)
	if done, err := setup.Import(t.Context(), s, f); err != nil || len(done.Deleted) != 0 {
		t.Errorf("after the restoration: done = %+v, %v", done, err)
	}
	for slug, want := range map[string][]int64{"ann": {1, 2, 3}, "cy": {1, 2}} {
		if got := sources(t, s, slug); !cmp.Equal(got, want) {
			t.Errorf("%s reads %v, want %v", slug, got, want)
		}
	}
}

// A deleted user's private source is not the public one of the same address.
func TestImportKnowsNoOrphan(t *testing.T) {
	s := storetest.New(t, nil)
	if _, err := setup.Import(t.Context(), s, read(t, example)); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.DeleteUser(t.Context(), 1) }); err != nil {
		t.Fatal(err)
	}
	f := read(t, example)
	f.Sources[2].Private, f.Users = "", f.Users[1:]
	f.Users[0].Sources = []string{"Work"}
	done, err := setup.Import(t.Context(), s, f)
	if err != nil || done.Sources != 1 || len(done.Deleted) != 0 {
		t.Errorf("done = %+v, %v", done, err)
	}
	if got := sources(t, s, "bob"); !cmp.Equal(got, []int64{1, 4}) {
		t.Errorf("Bob reads %v", got)
	}
}

// A source that has moved, or whose config is formatted differently, is not new.
func TestImportKnowsWhatMoved(t *testing.T) {
	s := storetest.New(t, nil)
	const one = `{"sources": [{"name": "News", "type": "rss", "config": {"url": "https://news.example/feed", "fetch_interval_minutes": 60}}]}`
	if _, err := setup.Import(t.Context(), s, read(t, one)); err != nil {
		t.Fatal(err)
	}
	for n, to := range []string{"https://news.example/new", "https://other.example/"} {
		lease, err := s.ClaimSource(t.Context(), 1, "test", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.FinishFetch(t.Context(), lease, store.Fetched{Plan: schedule.Plan{Adopt: true}, NewURL: to}); err != nil {
			t.Fatal(err)
		}
		if src, err := s.Source(t.Context(), 1); err != nil || !strings.Contains(string(src.Config), `"url":"`+to+`"`) {
			t.Errorf("its config is %s, %v", src.Config, err)
		}
		other := strings.Replace(one, `{"url": "https://news.example/feed", "fetch_interval_minutes": 60}`, `{"fetch_interval_minutes":60, "url":"https://news.example/feed"}`, n)
		if done, err := setup.Import(t.Context(), s, read(t, other)); err != nil || done.Sources != 0 {
			t.Errorf("after %d moves: done = %+v, %v", n+1, done, err)
		}
	}
}

// Errors name the fault, and nothing of the file is stored.
func TestBadFile(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, says string
		is             error
	}{
		"unknown field":    {`"slug": "bob"`, `"slug": "bob", "key": "x"`, `unknown field "key"`, setup.ErrFile},
		"trailing":         {"\n}", "\n} {}", "continues after its JSON value", setup.ErrFile},
		"unknown source":   {`["Top"]`, `["Tip"]`, `packs[1]: setup: bad file: no source of the file has the name "Tip"`, setup.ErrFile},
		"unknown pack":     {`["tech"]`, `["tach"]`, `users[0]: pack "tach"`, store.ErrNotFound},
		"unknown user":     {`"private_to": "ann"`, `"private_to": "eve"`, `sources[2]: private_to: user "eve"`, store.ErrNotFound},
		"name twice":       {`"name": "Top"`, `"name": "News"`, `sources[1]: setup: bad file: name "News" is empty or occurs twice`, setup.ErrFile},
		"no name":          {`"name": "Top"`, `"name": ""`, `sources[1]: setup: bad file: name "" is empty or occurs twice`, setup.ErrFile},
		"no type":          {`"type": "hackernews"`, `"type": ""`, "sources[1]: setup: bad file: unknown type", setup.ErrFile},
		"a mistyped type":  {`"type": "hackernews"`, `"type": "hackernew"`, "unknown type; the types are [atom custom_api", setup.ErrFile},
		"no email":         {`"bob@example.com"`, `""`, "users[1]", store.ErrInvalid},
		"slug twice":       {`"slug": "bob"`, `"slug": "ann"`, `users[1]: setup: bad file: slug "ann" occurs twice`, setup.ErrFile},
		"email twice":      {`"bob@example.com"`, `"ann@example.com"`, "users[1]", store.ErrTaken},
		"bad option":       {`"language": "zh"`, `"language": "fr"`, "users[0]: setup: bad file: options: digest: bad options: language of 2 bytes", digest.ErrOptions},
		"unknown option":   {`"language": "zh"`, `"tongue": "zh"`, "users[0]: setup: bad file: options: digest: bad options: unknown field \"tongue\"; the fields are language and style", setup.ErrFile},
		"slug of a feed":   {`"slug": "bob"`, `"slug": "bob.rss"`, "users[1]: setup: bad file: slug: 7 bytes", setup.ErrFile},
		"slug with dots":   {`"slug": "bob"`, `"slug": "../x"`, "users[1]: setup: bad file: slug: 4 bytes", setup.ErrFile},
		"another scheme":   {`https://news.example/feed`, `ftp://news.example/feed`, "sources[0]: setup: bad file: config: its address must be", setup.ErrFile},
		"no host":          {`https://news.example/feed`, `news.example/feed`, "sources[0]: setup: bad file: config: its address must be", setup.ErrFile},
		"bad interval":     {`"url": "https://news.example/feed"`, `"url": "https://news.example/feed", "fetch_interval_minutes": -1`, "config.fetch_interval_minutes: \"-1\"", setup.ErrFile},
		"config no object": {`{"url": "https://news.example/feed"}`, `null`, "sources[0]: setup: bad file: config is not a JSON object", setup.ErrFile},
		"config of wrong":  {`{"url": "https://news.example/feed"}`, `nothing`, "not JSON in line 3: invalid character", setup.ErrFile},
		"config of type":   {`"name": "Ann"`, `"name": 7`, "users.name: a JSON number in line 9, want a string", setup.ErrFile},
		"config no url":    {`{"url": "https://news.example/feed"}`, `{"uri": "x"}`, "sources[0]: setup: bad file: config.url", setup.ErrFile},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(example, c.from, c.to, 1)
			if text == example {
				t.Fatalf("the example has no %q", c.from)
			}
			s := storetest.New(t, nil)
			f, err := setup.Read(strings.NewReader(text))
			if err == nil {
				_, err = setup.Import(context.WithoutCancel(t.Context()), s, f)
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v, want one that says %q", err, c.says)
			}
			if all, err := s.FetchStates(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("%d sources, %v", len(all), err)
			}
		})
	}
}
