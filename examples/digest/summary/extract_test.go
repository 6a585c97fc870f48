package summary_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

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
