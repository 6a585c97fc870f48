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

// To compute a vector: printf '1,3,7|{"language":"zh"}' | sha256sum. The names are sorted,
// without spaces.
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
		{"all", []int64{7, 3, 1, 1}, digest.Options{Language: "zh", Style: "brief", Model: "m-1", Prompt: "1"}, "d2692dab16a90e9ef49f5b0ca0fe46a820ea030d61fb0aa39fdcf04d8ed79ce7"},
		{"a model that JSON has to quote", []int64{1}, digest.Options{Model: "a\"<é>\u2028"}, "a8dfd7a9863ec65776827679d43b178009d0aa571cf3f0a74c3d4303ccb1ac0c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := digest.Hash(tt.ids, tt.options); err != nil || got != tt.want {
				t.Errorf("Hash(%v, %+v) = %s, %v; want %s", tt.ids, tt.options, got, err, tt.want)
			}
		})
	}
}

// Two models or options that differ in anything have different hashes.
func TestEveryOptionIsInTheHash(t *testing.T) {
	seen := map[string]string{}
	w := newWorld(t, 1)
	for name, tt := range map[string]struct {
		wish    string
		variant summary.Variant
	}{
		"default":        {},
		"language":       {wish: `{"language":"zh"}`},
		"brief":          {wish: `{"style":"brief"}`},
		"full":           {wish: `{"style":"full"}`},
		"model":          {variant: summary.Variant{Model: "m-1"}},
		"another model":  {variant: summary.Variant{Model: "m-2"}},
		"prompt":         {variant: summary.Variant{Prompt: "1"}},
		"another prompt": {variant: summary.Variant{Prompt: "2"}},
	} {
		user := w.user(name, 1)
		w.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.EditUser(ctx, user, store.UserEdit{Options: json.RawMessage(tt.wish)})
		})
		svc, _ := w.process(func(c *digest.Config) { c.Summariser = &scribe{variant: tt.variant} })
		hash := w.generate(svc, user, digest.Daily).Hash
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[hash] = name
	}
	if name := seen[store.Hash([]int64{1})]; name != "default" {
		t.Errorf("the hash of only the ids is that of %q, want the default's", name)
	}
}

func TestUsersWish(t *testing.T) {
	w := newWorld(t, 1)
	ann, bob, eve := w.user("ann", 1), w.user("bob", 1), w.user("eve", 1)
	wish := func(user int64, options string) {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.EditUser(ctx, user, store.UserEdit{Options: json.RawMessage(options)})
		})
	}
	first := w.daily(ann)
	wish(bob, `{"language":"en"}`) // the default, given explicitly
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
		t.Errorf("the summariser got %q, %q", last.Language, last.Style)
	}
	wish(eve, `{"style":"haiku"}`)
	if _, err := w.Generate(t.Context(), digest.Request{UserID: eve, Kind: digest.Daily}); !errors.Is(err, digest.ErrOptions) {
		t.Errorf("an unknown option: %v, want %v", err, digest.ErrOptions)
	}
	w.wantCalls(2)
}

func TestParseOptions(t *testing.T) {
	for in, want := range map[string]digest.Options{
		"": {}, " ": {}, "{}": {}, `{"language":"zh"}`: {Language: "zh"}, `{"style":"full","language":"en"}`: {Style: "full"},
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
