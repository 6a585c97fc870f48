package policy_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/policy"
)

// ttl returns an override that changes only the TTL.
func ttl(tenant, namespace string, d time.Duration) policy.Override {
	return policy.Override{Tenant: tenant, Namespace: namespace, Patch: policy.Patch{TTL: &d}}
}

func TestTablePrecedence(t *testing.T) {
	const all, ns, tenant, both = 1 * time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour
	// The most specific first: the order in the table does not matter.
	table := policy.Table{ttl("acme", "users", both), ttl("acme", "", tenant), ttl("", "users", ns), ttl("", "", all)}
	tests := []struct {
		name, tenant, namespace string
		table                   policy.Table
		want                    time.Duration
	}{
		{"nil table", "acme", "users", nil, time.Minute},
		{"all", "globex", "posts", table, all},
		{"namespace", "globex", "users", table, ns},
		{"tenant", "acme", "posts", table, tenant},
		{"both", "acme", "users", table, both},
		{"tenant beats namespace", "acme", "users", table[1:], tenant},
		{"no tenant", "", "users", table, ns},
		{"no namespace", "acme", "", table, tenant},
		{"neither", "", "", table, all},
		{"namespace is no prefix", "globex", "users:v1", table, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.table.For(policy.Default(), tt.tenant, tt.namespace).TTL; got != tt.want {
				t.Errorf("TTL = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTableMergesFieldByField(t *testing.T) {
	table := policy.Table{
		{Patch: policy.Patch{TTL: new(time.Hour), Stale: new(time.Hour)}},
		{Namespace: "users", Patch: policy.Patch{Stale: new(time.Second), MinLoad: new(time.Millisecond)}},
		{Tenant: "acme", Patch: policy.Patch{Off: new(true), Throttle: new(time.Duration(0))}},
		{Tenant: "acme", Namespace: "users", Patch: policy.Patch{Off: new(false)}},
	}
	want := policy.Default()
	want.TTL, want.Stale = time.Hour, time.Second
	want.MinLoad, want.Throttle = time.Millisecond, 0
	if diff := cmp.Diff(want, table.For(policy.Default(), "acme", "users")); diff != "" {
		t.Errorf("For (-want +got):\n%s", diff)
	}
	if !table.For(policy.Default(), "acme", "posts").Off {
		t.Error("the tenant's kill switch does not reach its other namespaces")
	}
}

// Apply has one line for each field. This test fails if a field is added to Policy or Patch and
// not there.
func TestApplyCoversEveryField(t *testing.T) {
	full := fullTable()[0].Patch
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			t.Errorf("%v is nil in the full patch", v.Type().Field(i).Name)
		}
	}
	p := full.Apply(policy.Policy{Off: true})
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if got, want := reflect.ValueOf(p).FieldByName(name).Interface(), v.Field(i).Elem().Interface(); got != want {
			t.Errorf("Apply leaves %s at %v, want %v", name, got, want)
		}
	}
}

func TestTableForAllocatesNothing(t *testing.T) {
	table := policy.Table{ttl("acme", "users", time.Hour), ttl("", "", time.Hour)}
	if n := testing.AllocsPerRun(100, func() { _ = table.For(policy.Default(), "acme", "users") }); n != 0 {
		t.Errorf("For allocates %v times, want 0", n)
	}
}

func TestTableValidate(t *testing.T) {
	type T = policy.Table
	soft := policy.Override{Namespace: "users", Patch: policy.Patch{SoftTimeout: new(10 * time.Second), Stale: new(time.Minute)}}
	tests := []struct {
		name  string
		table T
		base  func(*policy.Policy)
		want  []string
	}{
		{"nil", nil, nil, nil},
		{"sound", T{soft, ttl("acme", "", time.Hour)}, nil, nil},
		{"bad base", nil, func(p *policy.Policy) { p.TTL = 0 }, []string{"base: TTL: 0"}},
		{"bad base mended for all", T{ttl("", "", time.Hour)}, func(p *policy.Policy) { p.TTL = 0 }, nil},
		{"bad base reported once", T{soft}, func(p *policy.Policy) { p.MaxValueBytes = 0 }, []string{"base: MaxValueBytes: 0"}},
		{"one override", T{soft, ttl("acme", "", -1)}, nil, []string{`override 1 (tenant "acme"): TTL: -1ns`}},
		{"everything", T{ttl("", "", -1)}, nil, []string{`override 0 (everything): TTL: -1ns`}},
		{
			"duplicate", T{soft, ttl("acme", "", time.Hour), soft}, nil,
			[]string{`override 2 (namespace "users"): same tenant and namespace as override 0`},
		},
		{
			"duplicate that is bad", T{ttl("acme", "", time.Hour), ttl("acme", "", -1)}, nil,
			[]string{`override 1 (tenant "acme"): same tenant and namespace as override 0`, `override 0 (tenant "acme"): TTL: -1ns`},
		},
		{
			"tenant that cannot be", T{ttl("acme:users", "", time.Hour)}, nil,
			[]string{`override 0 (tenant "acme:users"): a tenant never contains ':'`},
		},
		{"tenant with NUL", T{ttl("ac\x00me", "", time.Hour)}, nil, []string{`override 0 (tenant "ac\x00me"): a tenant is valid UTF-8`}},
		{"tenant that is not UTF-8", T{ttl("ac\xffme", "", time.Hour)}, nil, []string{`override 0 (tenant "ac\xffme"): a tenant is valid UTF-8`}},
		{"namespace with a brace", T{ttl("", "users{1}", time.Hour)}, nil, []string{`override 0 (namespace "users{1}"): a namespace is valid UTF-8`}},
		{"tenant in another script", T{ttl("münchen", "ümläut:v1", time.Hour)}, nil, nil},
		{
			"sound alone, unsound together",
			T{soft, {Tenant: "acme", Patch: policy.Patch{LoadTimeout: new(time.Second)}}}, nil,
			[]string{`override 0 (namespace "users") with override 1 (tenant "acme"): SoftTimeout: 10s is above`},
		},
		{
			"mended by an override for both",
			T{soft, {Tenant: "acme", Patch: policy.Patch{LoadTimeout: new(time.Second)}},
				{Tenant: "acme", Namespace: "users", Patch: policy.Patch{SoftTimeout: new(time.Duration(0))}}}, nil, nil,
		},
		{
			"unsound with both",
			T{soft, {Tenant: "acme", Namespace: "users", Patch: policy.Patch{Stale: new(time.Duration(0))}}}, nil,
			[]string{`override 1 (tenant "acme", namespace "users"): SoftTimeout: there is nothing to serve`},
		},
		{
			"every fault", T{ttl("a", "", -1), ttl("b", "", 0), ttl("", "n", -2)}, nil,
			[]string{`override 0 (tenant "a"): TTL: -1ns`, `override 1 (tenant "b"): TTL: 0`, `override 2 (namespace "n"): TTL: -2ns`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := policy.Default()
			if tt.base != nil {
				tt.base(&base)
			}
			wantFaults(t, tt.table.Validate(base), tt.want)
		})
	}
}

// Validate guarantees that every policy For can return is valid.
func TestValidTableYieldsValidPolicies(t *testing.T) {
	names := []string{"", "a", "b"}
	rapid.Check(t, func(t *rapid.T) {
		var table policy.Table
		for _, tenant := range names {
			for _, ns := range names {
				if rapid.Bool().Draw(t, "has") {
					o := policy.Override{Tenant: tenant, Namespace: ns}
					for _, f := range []**time.Duration{&o.SoftTimeout, &o.LoadTimeout, &o.Stale, &o.TTL} {
						if rapid.Bool().Draw(t, "set") {
							*f = new(time.Duration(rapid.IntRange(0, 3).Draw(t, "s")) * time.Second)
						}
					}
					table = append(table, o)
				}
			}
		}
		valid := table.Validate(policy.Default()) == nil
		sound := true
		for _, tenant := range []string{"a", "b", "other"} {
			for _, ns := range []string{"a", "b", "other"} {
				sound = sound && table.For(policy.Default(), tenant, ns).Validate() == nil
			}
		}
		if valid != sound {
			t.Fatalf("Validate() == nil is %v, every policy valid is %v: %+v", valid, sound, table)
		}
	})
}

func BenchmarkTableFor(b *testing.B) {
	table := policy.Table{ttl("acme", "users", time.Hour), ttl("", "", time.Hour), ttl("acme", "", time.Hour)}
	base := policy.Default()
	b.ReportAllocs()
	for b.Loop() {
		_ = table.For(base, "acme", "users")
	}
}

// Validate looks at each pair of a namespace and a tenant.
func BenchmarkTableValidate(b *testing.B) {
	var table policy.Table
	for i := range 300 {
		table = append(table, ttl(fmt.Sprint("t", i), "", time.Hour), ttl("", fmt.Sprint("n", i), time.Hour))
	}
	for b.Loop() {
		if err := table.Validate(policy.Default()); err != nil {
			b.Fatal(err)
		}
	}
}
