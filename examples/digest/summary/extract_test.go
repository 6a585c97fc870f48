package summary_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

// The files are the output of version 2. A change of the output changes the text of
// existing cache keys, so it needs another extractModel.
func TestExtractive(t *testing.T) {
	for _, style := range []string{summary.Normal, summary.Brief, summary.Full} {
		for _, language := range []string{summary.English, summary.Chinese} {
			name := fmt.Sprintf("extract_%s_%s.md", language, cmp.Or(style, "normal"))
			t.Run(name, func(t *testing.T) {
				r := request()
				r.Style, r.Language = style, language
				s, err := summary.NewExtractive().Summarise(t.Context(), r)
				if err != nil || s.Model != "extractive/2" || s.Items != len(r.Items) || s.Tokens != 0 {
					t.Fatalf("Summarise = %q, %d items, %d tokens, %v", s.Model, s.Items, s.Tokens, err)
				}
				golden(t, name, s.Markdown)
				checked, err := summary.Check(s.Markdown, r.Items)
				if err != nil || checked.Markdown != s.Markdown || checked.Dropped > 0 {
					t.Errorf("Check = %d dropped, %v; want the text as it is\n%s", checked.Dropped, err, checked.Markdown)
				}
			})
		}
	}
	if v := summary.NewExtractive().Variant(); v != (summary.Variant{}) {
		t.Errorf("Variant of version 1 = %+v, want none: its digests have the documented hashes", v)
	}
}

// The purpose of the rules, whatever the exact text.
func TestExtractiveRules(t *testing.T) {
	s, err := summary.NewExtractive().Summarise(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Dr. J. Doe", "## 海港新闻", "## Harbour News", "[跨海大桥恢复通车](https://zh.example/bridge)", "(https://harbour.example/bridge?id=%287%29)",
		`\[open\](javascript:alert(1))`, "A short note without a title",
	} {
		if !strings.Contains(s.Markdown, want) {
			t.Errorf("the digest lacks %q", want)
		}
	}
	for _, bad := range []string{"evil.example", "alert(\"x\")", "<b>", "empty.example"} {
		if strings.Contains(s.Markdown, bad) {
			t.Errorf("the digest has %q", bad)
		}
	}
	if n := strings.Count(s.Markdown, "Harbour bridge reopens"); n != 1 {
		t.Errorf("an item of two sources is reported %d times", n)
	}
}

func TestExtractiveIsDeterministic(t *testing.T) {
	first := ""
	for range 20 {
		s, err := summary.NewExtractive().Summarise(t.Context(), request())
		if err != nil || first != "" && s.Markdown != first {
			t.Fatalf("another text, %v:\n%s\n%s", err, first, s.Markdown)
		}
		first = s.Markdown
	}
}

// A source with many items does not displace the others.
func TestExtractiveHearsEverySource(t *testing.T) {
	r := summary.Request{Kind: "daily"}
	for i := range 60 {
		r.Items = append(r.Items, summary.Item{Source: "Loud", Title: fmt.Sprintf("Story %d of ship number %d", i, i*7), URL: fmt.Sprintf("https://loud.example/%d", i)})
	}
	for i, topic := range []string{"Orchard harvest begins", "Museum buys painting", "Snow closes mountain road", "Choir wins prize"} {
		r.Items = append(r.Items, summary.Item{Source: fmt.Sprint("Quiet ", i), Title: topic, URL: fmt.Sprintf("https://quiet.example/%d", i)})
	}
	s, err := summary.NewExtractive().Summarise(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if !strings.Contains(s.Markdown, fmt.Sprintf("## Quiet %d\n", i)) {
			t.Errorf("source %d is not heard", i)
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	ok := summary.Item{Title: "x"}
	for name, r := range map[string]summary.Request{
		"no items":            {},
		"an unknown language": {Items: []summary.Item{ok}, Language: "klingon"},
		"an unknown style":    {Items: []summary.Item{ok}, Style: "haiku"},
	} {
		if _, err := summary.NewExtractive().Summarise(t.Context(), r); !errors.Is(err, summary.ErrRequest) || strings.Contains(err.Error(), "klingon") {
			t.Errorf("%s: Summarise = %v, want %v", name, err, summary.ErrRequest)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := summary.NewExtractive().Summarise(ctx, request()); !errors.Is(err, context.Canceled) {
		t.Errorf("Summarise with a context that is done = %v", err)
	}
}

func BenchmarkExtractive(b *testing.B) {
	r := summary.Request{Kind: "weekly", Start: time.Unix(0, 0), End: time.Unix(1, 0)}
	for i := range 500 {
		it := request().Items[i%8]
		it.Title = fmt.Sprintf("%s %d", it.Title, i)
		r.Items = append(r.Items, it)
	}
	for b.Loop() {
		if _, err := summary.NewExtractive().Summarise(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
