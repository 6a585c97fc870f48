package policy_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/policy"
)

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
	err := json.Unmarshal([]byte(`[{"namespace":"users:v1","ttl":60,"jiter":0.1}]`), &table)
	fmt.Println(err)
	err = json.Unmarshal([]byte(`[{"namespace":"users:v1","ttl":"60s","stale":"forever"}]`), &table)
	fmt.Println(*table[0].TTL, *table[0].Stale == policy.Forever, err)
	// Output:
	// policy: entry 0: ttl: want a duration such as "60s", or "forever", got number 60
	// policy: entry 0: jiter: unknown field
	// 1m0s true <nil>
}

func ExampleTable_Validate() {
	// Each is sound alone; for acme's users they meet.
	table := policy.Table{
		{Namespace: "users:v1", Patch: policy.Patch{SoftTimeout: new(5 * time.Second), Stale: new(time.Minute)}},
		{Tenant: "acme", Patch: policy.Patch{LoadTimeout: new(time.Second)}},
	}
	fmt.Println(table.Validate(policy.Default()))
	// Output:
	// policy: override 0 (namespace "users:v1") with override 1 (tenant "acme"): SoftTimeout: 5s is above LoadTimeout 1s
}

func ExamplePolicy_Validate() {
	p := policy.Default()
	p.Jitter, p.SoftTimeout, p.LoadTimeout = 1.5, time.Second, 0
	fmt.Println(p.Validate())
	// Output:
	// policy: Jitter: 1.5 is not in [0, 1)
	// policy: LoadTimeout: 0 would let a load hang for good
	// policy: SoftTimeout: nothing to serve after it: Stale and StaleIfError are 0
}
