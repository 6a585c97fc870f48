package seed_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// The seed is large enough for lists of several pages, with texts of realistic length.
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
		if err != nil || len(months) < 9 || lang == content.English && len(months) < 24 {
			t.Errorf("%s: %d months, %v", lang, len(months), err)
		}
	}
	if total < 60 || len(tags) < 20 {
		t.Errorf("%d posts with %d tags, want at least 60 with 20", total, len(tags))
	}
	pages, err := s.Pages(t.Context())
	if err != nil || len(pages) != 2 || pages[0].Title == "" || pages[0].Body == "" {
		t.Errorf("pages: %v, %v; want one of each language", pages, err)
	}
}

// Each post has a unique title and body, which are valid.
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
			if n := utf8.RuneCountInString(p.Body); n < 100 || n > 5000 {
				t.Errorf("%s has %d characters", p.Slug, n)
			}
			if len(p.Tags) == 0 || p.Excerpt == "" || strings.Contains(p.Excerpt, "\n") {
				t.Errorf("%s: tags %v, summary %q", p.Slug, p.Tags, p.Excerpt)
			}
		}
	}
}

// An empty site has only settings and a key.
func TestEmpty(t *testing.T) {
	s := sitetest.Empty(t)
	if filled, err := seed.Fill(t.Context(), s, seed.Options{BaseURL: "http://h", APIKey: "p_s", Empty: true}); !filled || err != nil {
		t.Fatal(filled, err)
	}
	set, err := s.Settings(t.Context())
	if err != nil || set.BaseURL != "http://h" || len(set.Texts) != len(content.Langs) {
		t.Errorf("Settings = %+v, %v", set, err)
	}
	if l, err := s.AllPosts(t.Context(), "", content.Window{Number: 1, Size: 1}); err != nil || l.Total != 0 {
		t.Errorf("AllPosts = %v, %v", l, err)
	}
	if filled, err := seed.Fill(t.Context(), s, seed.Options{APIKey: "p_s"}); filled || err != nil {
		t.Errorf("Fill = %v, %v", filled, err)
	}
}

func TestFillRefusesWhatIsNoKey(t *testing.T) {
	s := sitetest.Empty(t)
	if _, err := seed.Fill(t.Context(), s, seed.Options{APIKey: "nokey"}); err == nil {
		t.Error("Fill took a key without a secret")
	}
	if _, err := s.Settings(t.Context()); err == nil {
		t.Error("Fill failed, but has written")
	}
}

func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := sitetest.Empty(b)
		b.StartTimer()
		if _, err := seed.Fill(b.Context(), s, seed.Options{BaseURL: sitetest.BaseURL, APIKey: sitetest.APIKey}); err != nil {
			b.Fatal(err)
		}
	}
}
