package digest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// The vectors can be had with printf '1,3,7|{"language":"zh"}' | sha256sum: the names in
// order, nothing else between them.
func TestHashWithOptions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ids     []int64
		options digest.Options
		want    string
	}{
		{"none: the documented hash", []int64{3, 1, 7}, digest.Options{}, "1b15bdcc71b5563d53f75fd0b748cd0f77725af7bb451ef60387da214efe8472"},
		{"nothing at all", nil, digest.Options{}, store.EmptyHash},
		{"a language", []int64{3, 1, 7}, digest.Options{Language: "zh"}, "3dd0645e179358a2d4270907d006ef4c619296a5f31a873e22da876c857e20c3"},
		{"all", []int64{7, 3, 1, 1}, digest.Options{Language: "zh", Style: "brief", MaxItems: 20, Model: "m-1", Prompt: "1"}, "ffa4af2da2788893b2b802ea8d0443fdc2482662d54290f519a74be16a3474f0"},
		{"a model that JSON has to quote", []int64{1}, digest.Options{Model: "a\"<é>\u2028"}, "a8dfd7a9863ec65776827679d43b178009d0aa571cf3f0a74c3d4303ccb1ac0c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := digest.Hash(tt.ids, tt.options); err != nil || got != tt.want {
				t.Errorf("Hash(%v, %+v) = %s, %v; want %s", tt.ids, tt.options, got, err, tt.want)
			}
		})
	}
}

// Whatever the text depends on is in the hash: two configurations or wishes that differ
// in anything share no digest.
func TestEveryOptionIsInTheHash(t *testing.T) {
	seen := map[string]string{}
	w := newWorld(t, 1)
	ann := w.user("ann", 1)
	for name, change := range map[string]func(c *digest.Config){
		"default":        nil,
		"language":       func(c *digest.Config) { c.Options.Language = summary.Chinese },
		"brief":          func(c *digest.Config) { c.Options.Style = summary.Brief },
		"full":           func(c *digest.Config) { c.Options.Style = summary.Full },
		"fewer items":    func(c *digest.Config) { c.Options.MaxItems = 3 },
		"model":          func(c *digest.Config) { c.Summariser = &scribe{variant: summary.Variant{Model: "m-1"}} },
		"another model":  func(c *digest.Config) { c.Summariser = &scribe{variant: summary.Variant{Model: "m-2"}} },
		"prompt":         func(c *digest.Config) { c.Summariser = &scribe{variant: summary.Variant{Prompt: "1"}} },
		"another prompt": func(c *digest.Config) { c.Summariser = &scribe{variant: summary.Variant{Prompt: "2"}} },
	} {
		if change == nil {
			change = func(*digest.Config) {}
		}
		svc, _ := w.process(change)
		hash := w.generate(svc, ann, digest.Daily).Hash
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[hash] = name
	}
	if name := seen[store.Hash([]int64{1})]; name != "default" {
		t.Errorf("the hash of the ids alone is that of %q, want the default's", name)
	}
}

func TestUsersWish(t *testing.T) {
	w := newWorld(t, 1)
	ann, bob, eve := w.user("ann", 1), w.user("bob", 1), w.user("eve", 1)
	wish := func(user int64, options string) {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.SetUserOptions(ctx, user, json.RawMessage(options))
		})
	}
	first := w.daily(ann)
	wish(bob, `{"language":"en"}`) // is the default, spelled out
	if r := w.daily(bob); r.Hash != first.Hash || r.Origin != digest.FromMemory {
		t.Errorf("the default spelled out: %.8s from %s, want %.8s", r.Hash, r.Origin, first.Hash)
	}
	wish(ann, `{"language":"zh","style":"brief"}`)
	r := w.daily(ann)
	if r.Hash == first.Hash || r.Row.ID != first.Row.ID {
		t.Errorf("with a wish: %.8s in row %d, want another hash than %.8s in row %d", r.Hash, r.Row.ID, first.Hash, first.Row.ID)
	}
	w.wantSame(ann, r)
	last := w.scribe.seen[len(w.scribe.seen)-1]
	if last.Language != summary.Chinese || last.Style != summary.Brief {
		t.Errorf("the summariser was asked for %q, %q", last.Language, last.Style)
	}
	wish(eve, `{"style":"haiku"}`)
	if _, err := w.Generate(t.Context(), digest.Request{UserID: eve, Kind: digest.Daily}); !errors.Is(err, digest.ErrOptions) {
		t.Errorf("a wish that nobody knows: %v, want %v", err, digest.ErrOptions)
	}
	w.wantCalls(2)
}

// A user's English wins over a program's Chinese, although it is the library's default.
func TestWishOverConfiguration(t *testing.T) {
	w := newWorld(t, 1, func(c *digest.Config) { c.Options.Language = summary.Chinese })
	ann, bob := w.user("ann", 1), w.user("bob", 1)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetUserOptions(ctx, bob, []byte(`{"language":"en"}`))
	})
	if a, b := w.daily(ann).Hash, w.daily(bob).Hash; a == b || b != store.Hash([]int64{1}) {
		t.Errorf("Chinese has %.8s and English %.8s", a, b)
	}
}

func TestParseOptions(t *testing.T) {
	for in, want := range map[string]digest.Options{
		"": {}, " ": {}, "{}": {}, `{"language":"zh"}`: {Language: "zh"}, `{"style":"full","language":"en"}`: {Style: "full", Language: "en"},
	} {
		if got, err := digest.ParseOptions([]byte(in)); err != nil || got != want {
			t.Errorf("ParseOptions(%q) = %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{
		`{"language":"fr"}`, `{"style":"x"}`, `{"model":"secret"}`, `{"max_items":9}`, `{"prompt_version":"2"}`, `[]`, `"zh"`, `{`, `{}{}`, `{"language":7}`,
	} {
		if _, err := digest.ParseOptions([]byte(in)); !errors.Is(err, digest.ErrOptions) {
			t.Errorf("ParseOptions(%q) = %v, want %v", in, err, digest.ErrOptions)
		}
	}
}
