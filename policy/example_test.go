package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/policy"
)

// A catalogue changes only by an invalidation. When its source fails, old values are served for a
// day, and each key is loaded at most once in ten seconds.
func ExamplePolicy() {
	p := policy.Default()
	p.TTL = policy.Forever
	p.StaleIfError, p.Throttle = 24*time.Hour, 10*time.Second
	fmt.Println(p.Validate())
	// Output:
	// <nil>
}

func ExamplePolicy_Validate() {
	p := policy.Default()
	p.Jitter, p.SoftTimeout, p.LoadTimeout = 1.5, time.Second, 0
	fmt.Println(p.Validate())
	// Output:
	// policy: Jitter: 1.5 is not in [0, 1); 0.15 spreads by 15 %
	// policy: LoadTimeout: 0 would let a load hang for ever; set the longest time that a load may take
	// policy: SoftTimeout: there is nothing to serve after it: set Stale or StaleIfError, too
}

// A policy in a file names only the fields that differ from Default.
func ExamplePolicy_UnmarshalJSON() {
	var p policy.Policy
	err := json.Unmarshal([]byte(`{"ttl":"5m","stale":"1m","max_refreshes":4}`), &p)
	fmt.Println(p.TTL, p.Stale, p.MaxRefreshes, p.LoadTimeout, err)
	// Output:
	// 5m0s 1m0s 4 30s <nil>
}

func ExamplePolicy_MarshalJSON() {
	b, err := json.Marshal(policy.Default())
	fmt.Println(string(b), err)
	// Output:
	// {"ttl":"1m","jitter":0.15,"negative_ttl":"3s","error_ttl":"0s","stale":"0s","stale_if_error":"0s","throttle":"1s","refresh_ahead":0,"max_refreshes":0,"soft_timeout":"0s","load_timeout":"30s","detached":false,"local_ttl":"0s","replica_lag":"0s","min_load":"0s","max_value_bytes":1048576,"remote_timeout":"50ms","audit":0,"off":false} <nil>
}

func ExampleDefault() {
	p := policy.Default()
	fmt.Println(p.TTL, p.NegativeTTL, p.Throttle, p.LoadTimeout)
	// Output:
	// 1m0s 3s 1s 30s
}

func ExampleResolution() {
	p := policy.Default()
	p.Stale = policy.Resolution / 2
	fmt.Println(p.Validate())
	// Output:
	// policy: Stale: 500µs with jitter 0 can fall below 1ms, the resolution of the remote tier; set it higher
}

// A missing field inherits; a zero does not.
func ExamplePatch() {
	q := policy.Patch{TTL: new(5 * time.Minute), Throttle: new(time.Duration(0))}
	p := q.Apply(policy.Default())
	fmt.Println(p.TTL, p.Throttle, p.NegativeTTL)
	// Output:
	// 5m0s 0s 3s
}

func ExamplePatch_UnmarshalJSON() {
	var q policy.Patch
	err := json.Unmarshal([]byte(`{"ttl":"5m"}`), &q)
	fmt.Println(*q.TTL, q.Stale == nil, err)
	// Output:
	// 5m0s true <nil>
}

func ExamplePatch_MarshalJSON() {
	b, err := json.Marshal(policy.Patch{TTL: new(5 * time.Minute), LocalTTL: new(policy.Forever)})
	fmt.Println(string(b), err)
	// Output:
	// {"ttl":"5m","local_ttl":"forever"} <nil>
}

func ExampleOverride_UnmarshalJSON() {
	var o policy.Override
	err := json.Unmarshal([]byte(`{"tenant":"acme","off":true}`), &o)
	fmt.Println(o.Tenant, *o.Off, err)
	// Output:
	// acme true <nil>
}

func ExampleOverride_MarshalJSON() {
	b, err := json.Marshal(policy.Override{Tenant: "acme", Patch: policy.Patch{Off: new(true)}})
	fmt.Println(string(b), err)
	// Output:
	// {"tenant":"acme","off":true} <nil>
}

func ExampleTable_For() {
	table := policy.Table{
		{Namespace: "users:v1", Patch: policy.Patch{TTL: new(5 * time.Minute), Stale: new(time.Minute)}},
		{Tenant: "acme", Patch: policy.Patch{Off: new(true)}},
	}
	p := table.For(policy.Default(), "globex", "users:v1")
	fmt.Println(p.TTL, p.Stale, p.Off)
	p = table.For(policy.Default(), "acme", "users:v1")
	fmt.Println(p.TTL, p.Stale, p.Off)
	// Output:
	// 5m0s 1m0s false
	// 5m0s 1m0s true
}

func ExampleTable_UnmarshalJSON() {
	var table policy.Table
	err := json.Unmarshal([]byte(`[{"namespace":"users:v1","ttl":60},{"jiter":0.1}]`), &table)
	fmt.Println(err)
	err = json.Unmarshal([]byte(`[{"namespace":"users:v1","ttl":"60s","stale":"forever"}]`), &table)
	fmt.Println(*table[0].TTL, *table[0].Stale == policy.Forever, err)
	// Output:
	// policy: entry 0: ttl: want a duration such as "60s", or "forever", got number
	// policy: entry 1: unknown field "jiter"; the names are those of policy.Policy in snake case
	// 1m0s true <nil>
}

func ExampleTable_MarshalJSON() {
	b, err := json.Marshal(policy.Table{{Namespace: "users:v1", Patch: policy.Patch{TTL: new(time.Minute)}}})
	fmt.Println(string(b), err)
	// Output:
	// [{"namespace":"users:v1","ttl":"1m"}] <nil>
}

func ExampleTable_Validate() {
	// Each is valid by itself. For acme's users both apply.
	table := policy.Table{
		{Namespace: "users:v1", Patch: policy.Patch{SoftTimeout: new(5 * time.Second), Stale: new(time.Minute)}},
		{Tenant: "acme", Patch: policy.Patch{LoadTimeout: new(time.Second)}},
	}
	fmt.Println(table.Validate(policy.Default()))
	// Output:
	// policy: override 0 (namespace "users:v1") with override 1 (tenant "acme"): SoftTimeout: 5s is above LoadTimeout 1s, which ends the load first; set it below
}

func ExampleFieldError() {
	err := policy.Policy{}.Validate()
	fault, ok := errors.AsType[*policy.FieldError](err)
	fmt.Println(ok, fault.Field, errors.Is(err, policy.ErrInvalid))
	fmt.Println(fault.Problem)
	// Output:
	// true TTL true
	// 0 would keep nothing; set Off to turn the cache off
}
