package summary_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

// If this test fails, increase PromptVersion and write the new sum beside it.
func TestPromptVersion(t *testing.T) {
	want := map[string]string{"3": "19da5ee8278bd102bbf69e6613f82f2699f765dbd21ef9cae5de00e9ee520705"}
	s := &server{answers: []answer{{}}}
	o, h := s.client(t, nil), sha256.New()
	for _, style := range []string{summary.Normal, summary.Brief, summary.Full} {
		for _, language := range []string{"", summary.English, summary.Chinese} {
			r := request()
			r.Style, r.Language = style, language
			if _, err := o.Summarise(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, body := range s.bodies {
		for _, m := range gjson.Get(body, "messages.#.content").Array() {
			h.Write([]byte(m.Str))
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want[summary.PromptVersion] {
		t.Errorf("the prompt of version %s has the sum %s, want %q", summary.PromptVersion, got, want[summary.PromptVersion])
	}
}

func TestBudget(t *testing.T) {
	r := request()
	for i := range 200 {
		r.Items = append(r.Items, summary.Item{
			Source: fmt.Sprint("Source ", i%3), Title: fmt.Sprint("Title ", i), URL: fmt.Sprintf("https://s.example/%d", i),
			Text: strings.Repeat("词语很多，一直写下去。", 40*(i%5)), Published: request().Start,
		})
	}
	last := 0
	for _, budget := range []int{1000, 2000, 4000, 8000} {
		s := &server{answers: []answer{{}}}
		got, err := s.client(t, func(c *summary.OpenAIConfig) { c.InputTokens = budget }).Summarise(t.Context(), r)
		if err != nil || got.Items <= last || got.Items >= len(r.Items) {
			t.Errorf("budget %d: %d items, %v; want more than %d, and not all", budget, got.Items, err, last)
		}
		if n := summary.Tokens(s.bodies[0]); n > budget*11/10 { // escaped quotes are not counted
			t.Errorf("budget %d: the model is sent about %d tokens", budget, n)
		}
		for _, source := range []string{"Harbour News", "City Wire", "海港新闻", "Source 0", "Source 1", "Source 2"} {
			if !strings.Contains(s.bodies[0], source) {
				t.Errorf("budget %d: nothing from %s", budget, source)
			}
		}
		last = got.Items
	}
}

// One item, whatever its text, does not displace the others.
func TestBudgetOfLongItems(t *testing.T) {
	r := request()
	long := "https://long.example/" + strings.Repeat("x", 60_000)
	hostile := []summary.Item{
		{Source: "Long address", Title: "Newest", URL: long, Text: "Something happened.", Published: r.End},
		{Source: strings.Repeat("Long name ", 6000), Title: "Second", URL: "https://name.example", Text: "Something happened.", Published: r.End},
	}
	r.Items = append(hostile, r.Items...)
	s := &server{answers: []answer{{}}}
	o := s.client(t, nil)
	if got, err := o.Summarise(t.Context(), r); err != nil || got.Items < len(request().Items) || strings.Contains(s.bodies[0], "xxxxx") {
		t.Errorf("the request has %d of %d items, %v", got.Items, len(r.Items), err)
	}
	if got, err := summary.NewExtractive().Summarise(t.Context(), r); err != nil || strings.Contains(got.Markdown, "long.example") {
		t.Errorf("%v: the digest links to an address of %d bytes", err, len(long))
	}
	small := s.client(t, func(c *summary.OpenAIConfig) { c.InputTokens = 1000 }) // too small for the name
	if got, err := small.Summarise(t.Context(), r); err != nil || got.Items < 3 {
		t.Errorf("the request has %d items, %v", got.Items, err)
	}
	r.Items = hostile[1:]
	if got, err := small.Summarise(t.Context(), r); !errors.Is(err, summary.ErrRequest) || len(s.asked) != 2 {
		t.Errorf("%q, %v: a request without items was sent", got.Markdown, err)
	}
}

func TestTokensAndCut(t *testing.T) {
	for in, want := range map[string]int{"": 0, "a": 1, "four letters": 3, "每日摘要": 5} {
		if got := summary.Tokens(in); got != want {
			t.Errorf("Tokens(%q) = %d, want %d", in, got, want)
		}
	}
	for _, text := range []string{strings.Repeat("some words ", 100), strings.Repeat("很多字。", 100), strings.Repeat("x", 1000), "short"} {
		for _, limit := range []int{0, 1, 5, 50} {
			got := summary.Cut(text, limit)
			if !utf8.ValidString(got) || summary.Tokens(got) > limit+2 || got != text && !strings.HasSuffix(got, "…") {
				t.Errorf("Cut(%.10q…, %d) = %.40q of %d tokens", text, limit, got, summary.Tokens(got))
			}
		}
	}
}
