package digest_test

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

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
		if _, err := w.store.Import(t.Context(), fmt.Sprintf(`UPDATE users SET options = '%s' WHERE id = %d`, cmp.Or(tt.wish, "{}"), user)); err != nil {
			t.Fatal(err)
		}
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
