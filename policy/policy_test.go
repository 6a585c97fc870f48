package policy_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/policy"
)

func TestDefault(t *testing.T) {
	want := policy.Policy{
		TTL:           time.Minute,
		NegativeTTL:   3 * time.Second,
		Jitter:        0.15,
		LoadTimeout:   30 * time.Second,
		Throttle:      time.Second,
		MaxValueBytes: 1 << 20,
		RemoteTimeout: 50 * time.Millisecond,
	}
	if diff := cmp.Diff(want, policy.Default()); diff != "" {
		t.Errorf("Default (-want +got):\n%s", diff)
	}
	if err := policy.Default().Validate(); err != nil {
		t.Errorf("Default().Validate() = %v", err)
	}
}

func TestValidate(t *testing.T) {
	type P = policy.Policy
	tests := []struct {
		name   string
		change func(*P)
		want   []string // "Field: part of the problem"; none: valid
	}{
		{"forever", func(p *P) { p.TTL, p.Stale, p.StaleIfError = policy.Forever, policy.Forever, policy.Forever }, nil},
		{"no throttle", func(p *P) { p.Throttle = 0 }, nil},
		{"errors remembered for ever", func(p *P) { p.ErrorTTL = policy.Forever }, nil},
		{"max refreshes", func(p *P) { p.MaxRefreshes = 1 }, nil},
		{"no negatives", func(p *P) { p.NegativeTTL = 0 }, nil},
		{"off", func(p *P) { p.Off = true }, nil},
		{"soft with stale", func(p *P) { p.SoftTimeout, p.Stale = time.Second, time.Minute }, nil},
		{"soft with stale if error", func(p *P) { p.SoftTimeout, p.StaleIfError = time.Second, time.Minute }, nil},
		{"soft equals load", func(p *P) { p.SoftTimeout, p.Stale = p.LoadTimeout, time.Minute }, nil},
		{"least ttl", func(p *P) { p.TTL, p.Jitter = 2*time.Millisecond, 0.5 }, nil},
		{"local ttl above ttl", func(p *P) { p.LocalTTL = time.Hour }, nil},

		{"ttl zero", func(p *P) { p.TTL = 0 }, []string{"TTL: 0 would keep nothing"}},
		{"ttl negative", func(p *P) { p.TTL = -1 }, []string{"TTL: -1ns is negative"}},
		{"negative ttl negative", func(p *P) { p.NegativeTTL = -1 }, []string{"NegativeTTL: -1ns"}},
		{"error ttl negative", func(p *P) { p.ErrorTTL = -1 }, []string{"ErrorTTL: -1ns"}},
		{"throttle negative", func(p *P) { p.Throttle = -1 }, []string{"Throttle: -1ns is negative; want a duration of 0 or more"}},
		{"max refreshes negative", func(p *P) { p.MaxRefreshes = -1 }, []string{"MaxRefreshes: -1 is negative"}},
		{"stale negative", func(p *P) { p.Stale = -1 }, []string{"Stale: -1ns"}},
		{"stale if error negative", func(p *P) { p.StaleIfError = -1 }, []string{"StaleIfError: -1ns"}},
		{"soft negative", func(p *P) { p.SoftTimeout = -1 }, []string{"SoftTimeout: -1ns"}},
		{"load negative", func(p *P) { p.LoadTimeout = -1 }, []string{"LoadTimeout: -1ns"}},
		{"load zero", func(p *P) { p.LoadTimeout = 0 }, []string{"LoadTimeout: 0 would"}},
		{"local negative", func(p *P) { p.LocalTTL = -1 }, []string{"LocalTTL: -1ns"}},
		{"min load above load timeout", func(p *P) { p.MinLoad = time.Minute }, []string{"MinLoad: 1m0s is above LoadTimeout 30s"}},
		{"remote timeout of nothing", func(p *P) { p.RemoteTimeout = 1 }, []string{"RemoteTimeout: 1ns is too short for any answer"}},
		{"min load negative", func(p *P) { p.MinLoad = -1 }, []string{"MinLoad: -1ns"}},
		{"remote negative", func(p *P) { p.RemoteTimeout = -1 }, []string{"RemoteTimeout: -1ns"}},
		{"remote zero", func(p *P) { p.RemoteTimeout = 0 }, []string{"RemoteTimeout: 0 would"}},
		{"jitter negative", func(p *P) { p.Jitter = -0.1 }, []string{"Jitter: -0.1"}},
		{"jitter one", func(p *P) { p.Jitter = 1 }, []string{"Jitter: 1 is not"}},
		{"jitter nan", func(p *P) { p.Jitter = math.NaN() }, []string{"Jitter: NaN"}},
		{"jitter inf", func(p *P) { p.Jitter = math.Inf(1) }, []string{"Jitter: +Inf"}},
		{"ahead negative", func(p *P) { p.RefreshAhead = -1 }, []string{"RefreshAhead: -1"}},
		{"ahead nan", func(p *P) { p.RefreshAhead = math.NaN() }, []string{"RefreshAhead: NaN"}},
		{"ahead inf", func(p *P) { p.RefreshAhead = math.Inf(1) }, []string{"RefreshAhead: +Inf"}},
		{"audit negative", func(p *P) { p.Audit = -0.1 }, []string{"Audit: -0.1"}},
		{"audit above one", func(p *P) { p.Audit = 1.1 }, []string{"Audit: 1.1"}},
		{"audit nan", func(p *P) { p.Audit = math.NaN() }, []string{"Audit: NaN"}},
		{"max value zero", func(p *P) { p.MaxValueBytes = 0 }, []string{"MaxValueBytes: 0"}},
		{"max value negative", func(p *P) { p.MaxValueBytes = -1 }, []string{"MaxValueBytes: -1"}},
		{"soft above load", func(p *P) { p.SoftTimeout, p.Stale = time.Minute, time.Minute }, []string{"SoftTimeout: 1m0s is above"}},
		{"soft serves nothing", func(p *P) { p.SoftTimeout = time.Second }, []string{"SoftTimeout: there is nothing to serve"}},
		{"ttl below jitter", func(p *P) { p.TTL, p.Jitter = time.Millisecond, 0.5 }, []string{"TTL: 1ms with jitter 0.5 can fall below"}},
		{"negative ttl below jitter", func(p *P) { p.NegativeTTL = time.Millisecond }, []string{"NegativeTTL: 1ms with jitter"}},
		{"error ttl below jitter", func(p *P) { p.ErrorTTL = time.Millisecond }, []string{"ErrorTTL: 1ms with jitter"}},
		{"stale below resolution", func(p *P) { p.Stale = time.Microsecond }, []string{"Stale: 1µs with jitter 0"}},

		{"zero policy", func(p *P) { *p = P{} }, []string{
			"TTL: 0", "LoadTimeout: 0", "RemoteTimeout: 0", "MaxValueBytes: 0",
		}},
		{"everything", func(p *P) {
			*p = P{TTL: -1, NegativeTTL: -1, ErrorTTL: -1, Throttle: -1, MaxRefreshes: -1, Stale: -1, StaleIfError: -1, SoftTimeout: -1,
				LoadTimeout: -1, LocalTTL: -1, ReplicaLag: -1, MinLoad: -1, RemoteTimeout: -1,
				Jitter: 2, RefreshAhead: -1, Audit: -1, MaxValueBytes: -1}
		}, []string{
			"TTL: ", "NegativeTTL: ", "ErrorTTL: ", "Throttle: ", "MaxRefreshes: ", "Stale: ", "StaleIfError: ", "SoftTimeout: ", "LoadTimeout: ",
			"LocalTTL: ", "ReplicaLag: ", "MinLoad: ", "RemoteTimeout: ", "Jitter: ", "RefreshAhead: ", "Audit: ", "MaxValueBytes: ",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := policy.Default()
			tt.change(&p)
			wantFaults(t, p.Validate(), tt.want)
		})
	}
}

// wantFaults checks that err joins exactly the faults whose texts begin, after
// the package's name, with the wanted ones, in any order.
func wantFaults(t *testing.T, err error, want []string) {
	t.Helper()
	if len(want) == 0 {
		if err != nil {
			t.Errorf("error = %v, want none", err)
		}
		return
	}
	if !errors.Is(err, policy.ErrInvalid) {
		t.Fatalf("error = %v, want ErrInvalid in reach", err)
	}
	if _, ok := errors.AsType[*policy.FieldError](err); !ok {
		t.Errorf("error = %v, want a *FieldError in reach", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Errorf("%d faults, want %d:\n%v", len(lines), len(want), err)
	}
	for _, w := range want {
		found := false
		for _, l := range lines {
			found = found || strings.HasPrefix(l, "policy: "+w)
		}
		if !found {
			t.Errorf("no fault %q in:\n%v", w, err)
		}
	}
}
