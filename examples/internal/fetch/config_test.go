package fetch_test

import (
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// Every fault is named at once.
func TestNewNamesFaults(t *testing.T) {
	tiers := newTiers(t, nil)
	for _, tt := range []struct {
		name string
		cfg  fetch.Config
		want []string // nil: it is good
	}{
		{"the least", fetch.Config{Tiers: tiers, UserAgent: "x"}, nil},
		{"nothing", fetch.Config{}, []string{"Config.Tiers", "Config.UserAgent"}},
		{"user agent without a token", fetch.Config{Tiers: tiers, UserAgent: " (x)"}, []string{"Config.UserAgent"}},
		{"user agent of two lines", fetch.Config{Tiers: tiers, UserAgent: "a\r\nX: secret"}, []string{"Config.UserAgent"}},
		{"negative", fetch.Config{Tiers: tiers, UserAgent: "x", Timeout: -1, MaxBytes: -1, PerHost: -1, HostDelay: -1, MaxWait: -1, Keep: -1, DeadFor: -1},
			[]string{"Timeout is -1", "MaxBytes is -1", "PerHost is -1", "HostDelay is -1", "MaxWait is -1", "Keep is -1", "DeadFor is -1"}},
		{"too much", fetch.Config{Tiers: tiers, UserAgent: "x", MaxBytes: 1 << 30, MaxRedirects: 21}, []string{"MaxBytes is 1073741824", "MaxRedirects is 21"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := fetch.New(tt.cfg)
			if (err == nil) != (tt.want == nil) || (c == nil) != (err != nil) {
				t.Fatalf("New = %v, %v", c, err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error %q does not name %q", err, w)
				}
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error %q shows the value", err)
			}
		})
	}
}

// What the cache refuses comes as it is.
func TestClosedTiers(t *testing.T) {
	tiers := newTiers(t, nil)
	c := newClient(t, fetch.Config{Tiers: tiers})
	if err := tiers.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range []fetch.Request{{URL: "https://a.example/"}, {URL: "https://a.example/", MaxAge: 1}} {
		if _, err := c.Get(t.Context(), r); err != cache.ErrClosed { //nolint:errorlint // it is to come unwrapped: the cache's own error would name a key
			t.Errorf("Get = %v, want %v", err, cache.ErrClosed)
		}
	}
	if n := c.Stats().Errors["other"]; n != 2 {
		t.Errorf("%d other errors, want 2", n)
	}
}
