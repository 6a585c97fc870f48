package seed_test

import (
	"testing"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// An empty site has only settings and a key.
func TestEmpty(t *testing.T) {
	s := sitetest.Empty(t)
	if filled, err := seed.Fill(t.Context(), s, seed.Options{BaseURL: "http://h", APIKey: "p_s", Empty: true}); !filled || err != nil {
		t.Fatal(filled, err)
	}
	set, err := s.Settings(t.Context())
	if err != nil || set.BaseURL != "http://h" {
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
