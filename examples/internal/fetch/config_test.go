package fetch_test

import (
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// The error names every fault.
func TestNewNamesFaults(t *testing.T) {
	tiers := newTiers(t, nil)
	for _, tt := range []struct {
		name string
		cfg  fetch.Config
		want []string // nil: valid
	}{
		{"the least", fetch.Config{Tiers: tiers, UserAgent: "x"}, nil},
		{"nothing", fetch.Config{}, []string{"Config.Tiers", "Config.UserAgent"}},
		{"user agent without a token", fetch.Config{Tiers: tiers, UserAgent: " (x)"}, []string{"Config.UserAgent"}},
		{"user agent of two lines", fetch.Config{Tiers: tiers, UserAgent: "a\r\nX: secret"}, []string{"Config.UserAgent"}},
		{"negative", fetch.Config{Tiers: tiers, UserAgent: "x", Timeout: -1, MaxBytes: -1, PerHost: -1, HostDelay: -1, DeadFor: -1},
			[]string{"Timeout is -1", "MaxBytes is -1", "PerHost is -1", "HostDelay is -1", "DeadFor is -1"}},
		{"too much", fetch.Config{Tiers: tiers, UserAgent: "x", MaxBytes: 1 << 30}, []string{"MaxBytes is 1073741824"}},
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
