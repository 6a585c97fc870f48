package policy_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twofold-go/twofold/policy"
)

const fullEntry = `[{"tenant":"acme","namespace":"users:v1","ttl":"1m","jitter":0.15,"negative_ttl":"3s","error_ttl":"1s",` +
	`"stale":"1m30s","stale_if_error":"1h","throttle":"5s","refresh_ahead":1,"max_refreshes":4,"soft_timeout":"50ms",` +
	`"load_timeout":"30s","detached":true,"local_ttl":"forever","replica_lag":"3s","min_load":"2ms","max_value_bytes":1048576,"remote_timeout":"50ms","audit":0.001,"off":false}]`

func fullTable() policy.Table {
	return policy.Table{{Tenant: "acme", Namespace: "users:v1", Patch: policy.Patch{
		TTL: new(time.Minute), Jitter: new(0.15), NegativeTTL: new(3 * time.Second), ErrorTTL: new(time.Second),
		Stale: new(90 * time.Second), StaleIfError: new(time.Hour), Throttle: new(5 * time.Second), RefreshAhead: new(1.0),
		MaxRefreshes: new(4), SoftTimeout: new(50 * time.Millisecond), LoadTimeout: new(30 * time.Second),
		Detached: new(true), LocalTTL: new(policy.Forever), ReplicaLag: new(3 * time.Second), MinLoad: new(2 * time.Millisecond), MaxValueBytes: new(1 << 20),
		RemoteTimeout: new(50 * time.Millisecond), Audit: new(0.001), Off: new(false),
	}}}
}

func TestTableJSON(t *testing.T) {
	tests := []struct {
		name, json string
		table      policy.Table
	}{
		{"empty", `[]`, policy.Table{}},
		{"nothing changed", `[{}]`, policy.Table{{}}},
		{"everything", fullEntry, fullTable()},
		{"zero is not left out", `[{"throttle":"0s","off":false}]`, policy.Table{{Patch: policy.Patch{Throttle: new(time.Duration(0)), Off: new(false)}}}},
		{"hours", `[{"ttl":"2h"},{"tenant":"a","ttl":"1h0m1s"}]`, policy.Table{ttl("", "", 2*time.Hour), ttl("a", "", time.Hour+time.Second)}},
		{"negative is for Validate", `[{"ttl":"-1s"}]`, policy.Table{ttl("", "", -time.Second)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got policy.Table
			if err := json.Unmarshal([]byte(tt.json), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.table, got); diff != "" {
				t.Errorf("Unmarshal (-want +got):\n%s", diff)
			}
			back, err := json.Marshal(tt.table)
			if err != nil || string(back) != tt.json {
				t.Errorf("Marshal = %s, %v, want %s", back, err, tt.json)
			}
		})
	}
	if b, err := json.Marshal(policy.Table(nil)); err != nil || string(b) != "[]" {
		t.Errorf("Marshal(nil table) = %s, %v, want []", b, err)
	}
}

func TestTableJSONRefuses(t *testing.T) {
	tests := []struct {
		name, json string
		want       []string
	}{
		{"object", `{}`, []string{"want a JSON array"}},
		{"null", `null`, []string{"want a JSON array"}},
		{"entry is a number", `[{},7]`, []string{"entry 1: want a JSON object, got number"}},
		{"entry is null", `[null]`, []string{"entry 0: want a JSON object, got null"}},
		{"unknown field", `[{},{"ttll":"1s"}]`, []string{`entry 1: unknown field "ttll"; the names are those of policy.Policy in snake case`}},
		{"object for a field", `[{"min_load":{}}]`, []string{`entry 0: min_load: want a duration such as "60s", or "forever", got object`}},
		{"bare number", `[{"ttl":60}]`, []string{`entry 0: ttl: want a duration such as "60s", or "forever", got number`}},
		{"no unit", `[{"ttl":"60"}]`, []string{`entry 0: ttl: want a duration such as "60s", or "forever", got "60"`}},
		{"long name", `[{"` + strings.Repeat("x", 1000) + `":1}]`, []string{`entry 0: unknown field "` + strings.Repeat("x", 65) + `… (1016 bytes); the names are`}},
		{"long number", `[{"max_refreshes":` + strings.Repeat("1", 1000) + `}]`, []string{`entry 0: max_refreshes: want a whole number, got number ` + strings.Repeat("1", 73) + `… (1007 bytes)`}},
		{"long text", `[{"ttl":"` + strings.Repeat("x", 1000) + `"}]`, []string{`entry 0: ttl: want a duration such as "60s", or "forever", got "` + strings.Repeat("x", 40) + `… (1000 bytes)"`}},
		{"text for a number", `[{"jitter":"0.1"}]`, []string{"entry 0: jitter: want a number, got string"}},
		{"number out of range", `[{"jitter":1e999}]`, []string{"entry 0: jitter: want a number, got number 1e999"}},
		{"fraction", `[{"max_refreshes":1.5}]`, []string{"entry 0: max_refreshes: want a whole number, got number 1.5"}},
		{"text for a bool", `[{"off":"true"}]`, []string{"entry 0: off: want true or false, got string"}},
		{"tenant", `[{"tenant":7}]`, []string{"entry 0: tenant: want a string, got number"}},
		{"a field twice", `[{"ttl":"1m","off":true,"ttl":"2m"}]`, []string{"entry 0: ttl: stands twice"}},
		{"a field twice, in another case", `[{"ttl":"1m","TTL":"2m"}]`, []string{"entry 0: TTL: stands twice"}},
		{"a fault of every entry", `[{"off":1,"ttl":2},{},{"x":3}]`, []string{"entry 0: off: ", "entry 2: unknown field"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fullTable()
			wantFaults(t, json.Unmarshal([]byte(tt.json), &got), tt.want)
			if diff := cmp.Diff(fullTable(), got); diff != "" {
				t.Errorf("the table changed (-old +new):\n%s", diff)
			}
		})
	}
}

// null inherits, as in encoding/json.
func TestNullInherits(t *testing.T) {
	var table policy.Table
	if err := json.Unmarshal([]byte(`[{"ttl":null,"off":true}]`), &table); err != nil {
		t.Fatal(err)
	}
	if table[0].TTL != nil || !*table[0].Off {
		t.Errorf("decoded %+v, want nothing but Off", table[0])
	}
}

// A patch on its own has no tenant.
func TestPatchHasNoTenant(t *testing.T) {
	var q policy.Patch
	err := json.Unmarshal([]byte(`{"tenant":"acme","ttl":"1s"}`), &q)
	wantFaults(t, err, []string{"a patch has no tenant and no namespace; only the entries of a table have"})
	if q.TTL != nil {
		t.Error("the patch changed")
	}
}

// Policy and Patch have the same fields in the same order, as the JSON code assumes.
func TestPatchHasTheFieldsOfPolicy(t *testing.T) {
	p, q := reflect.TypeFor[policy.Policy](), reflect.TypeFor[policy.Patch]()
	if p.NumField() != q.NumField() {
		t.Fatalf("Policy has %d fields, Patch %d", p.NumField(), q.NumField())
	}
	for i := range p.NumField() {
		if a, b := p.Field(i), q.Field(i); a.Name != b.Name || reflect.PointerTo(a.Type) != b.Type {
			t.Errorf("field %d is %s %v of Policy and %s %v of Patch", i, a.Name, a.Type, b.Name, b.Type)
		}
	}
}

// A direct call of UnmarshalJSON can pass data that json.Unmarshal would refuse.
func TestUnmarshalJSONTrailingData(t *testing.T) {
	table, override, patch, p := fullTable(), policy.Override{}, policy.Patch{}, policy.Policy{}
	for name, u := range map[string]json.Unmarshaler{"Override": &override, "Patch": &patch, "Policy": &p} {
		for _, data := range []string{`{} {}`, `{}x`, `{`, `{"ttl"`, `{"ttl":}`, ``, `{"ttl":"1s",}`} {
			if err := u.UnmarshalJSON([]byte(data)); err == nil {
				t.Errorf("%s.UnmarshalJSON(%q) = nil, want an error", name, data)
			}
		}
	}
	if err := table.UnmarshalJSON([]byte(`[] []`)); err == nil {
		t.Error("Table.UnmarshalJSON of two arrays = nil, want an error")
	}
}

func TestPolicyJSON(t *testing.T) {
	want := fullTable()[0].Apply(policy.Default())
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got policy.Policy
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
	got = policy.Policy{Off: true}
	if err := json.Unmarshal([]byte(`{"ttl":"5s"}`), &got); err != nil {
		t.Fatal(err)
	}
	if want := (policy.Patch{TTL: new(5 * time.Second)}).Apply(policy.Default()); got != want {
		t.Errorf("Unmarshal = %+v, want Default with a TTL of 5s", got)
	}
}

func TestMarshalNaN(t *testing.T) {
	p := policy.Default()
	p.Jitter = nan()
	if _, err := json.Marshal(p); err == nil {
		t.Error("Marshal of a NaN jitter = nil, want an error")
	}
}

func nan() float64 { var zero float64; return zero / zero }

// Everything that decodes, encodes and decodes to the same; nothing panics.
func FuzzTableJSON(f *testing.F) {
	for _, s := range []string{fullEntry, `[]`, `[{}]`, `null`, `[{"ttl":"forever"}]`, `[{"ttl":60}]`, `[{"min_load":{}}]`, `[{"throttle":"0s","max_refreshes":4}]`, `[{"ttl":null}]`, `[{"ttl":"1s","ttl":"1s"}]`, `[{"jitter":-0}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var table, again policy.Table
		if err := json.Unmarshal(data, &table); err != nil {
			return
		}
		b, err := json.Marshal(table)
		if err != nil {
			t.Fatalf("Marshal of a decoded table: %v", err)
		}
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("Unmarshal(%s) = %v", b, err)
		}
		if diff := cmp.Diff(table, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("round trip (-first +second):\n%s", diff)
		}
		_ = table.Validate(policy.Default())
	})
}
