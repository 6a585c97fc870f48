package summary_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

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
		if n := len(s.bodies[0]); n > budget*6 { // a token has about four letters
			t.Errorf("budget %d: the model is sent %d bytes", budget, n)
		}
		for _, source := range []string{"Harbour News", "City Wire", "海港新闻", "Source 0", "Source 1", "Source 2"} {
			if !strings.Contains(s.bodies[0], source) {
				t.Errorf("budget %d: nothing from %s", budget, source)
			}
		}
		last = got.Items
	}
}
