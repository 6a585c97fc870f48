package seed_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// The seed is large enough that lists have pages, and of real length.
func TestSeedIsOfRealSize(t *testing.T) {
	s := sitetest.Seeded(t)
	tags, total := map[string]bool{}, 0
	for _, lang := range content.Langs {
		l, err := s.ListPosts(t.Context(), content.Filter{Lang: lang}, content.Window{Number: 1, Size: 1000})
		if err != nil {
			t.Fatal(err)
		}
		total += l.Total
		counts, err := s.TagCounts(t.Context(), lang)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range counts {
			tags[c.Slug] = true
		}
		months, err := s.MonthCounts(t.Context(), lang)
		if err != nil || len(months) < 18 || lang == content.English && len(months) < 24 {
			t.Errorf("%s: %d months, %v", lang, len(months), err)
		}
	}
	if total < 200 || len(tags) < 20 {
		t.Errorf("%d posts with %d tags, want at least 200 with 20", total, len(tags))
	}
	pages, err := s.Pages(t.Context())
	if err != nil || len(pages) < 4 {
		t.Errorf("%d pages, %v; want at least 4", len(pages), err)
	}
	hidden, err := s.AllPosts(t.Context(), content.Scheduled, content.Window{Number: 1, Size: 10})
	if err != nil || hidden.Total != 1 {
		t.Errorf("%d scheduled posts, %v; want 1", hidden.Total, err)
	}
}

func TestPostsAreWorthReading(t *testing.T) {
	s := sitetest.Seeded(t)
	titles, bodies := map[string]bool{}, map[string]bool{}
	for _, lang := range content.Langs {
		all, err := s.FeedItems(t.Context(), lang, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if titles[p.Title] || bodies[p.Body] {
				t.Errorf("%s: there is another post of that title or body", p.Slug)
			}
			titles[p.Title], bodies[p.Body] = true, true
			if n := length(p.Body, lang); n < 300 || n > 1500 || lang == content.English && n > 900 {
				t.Errorf("%s has %d words", p.Slug, n)
			}
			if len(p.Tags) == 0 || p.Excerpt == "" || strings.Contains(p.Excerpt, "\n") {
				t.Errorf("%s: tags %v, summary %q", p.Slug, p.Tags, p.Excerpt)
			}
		}
	}
}

// length counts words in English, and characters in Chinese.
func length(body string, lang content.Lang) (n int) {
	if lang == content.English {
		return len(strings.Fields(body))
	}
	for _, r := range body {
		if unicode.Is(unicode.Han, r) {
			n++
		}
	}
	return n
}

func TestFillRefusesWhatIsNoKey(t *testing.T) {
	s := sitetest.Empty(t)
	if err := seed.Fill(t.Context(), s, seed.Options{APIKey: "nokey"}); err == nil {
		t.Error("Fill took a key without a secret")
	}
	if _, err := s.Settings(t.Context()); err == nil {
		t.Error("Fill failed, and has written all the same")
	}
}

func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := sitetest.Empty(b)
		b.StartTimer()
		if err := seed.Fill(b.Context(), s, seed.Options{BaseURL: sitetest.BaseURL}); err != nil {
			b.Fatal(err)
		}
	}
}
