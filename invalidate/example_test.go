package invalidate_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// A program without a cache.Cache, such as an operator's tool, spells scopes itself. The first
// argument is the tenant.
func Example() {
	k, err := key.Space{Tenant: "acme", Namespace: "users:v1"}.Key(key.Int(42))
	if err != nil {
		panic(err)
	}
	for _, s := range []invalidate.Scope{
		invalidate.Key(k),
		invalidate.Prefix("acme", "users:v1:"),
		invalidate.Tag("acme", "org:7"),
		invalidate.Tenant("acme"),
		invalidate.All(),
	} {
		fmt.Println(s, s.Validate())
	}
	// Output:
	// key acme:users:v1:42 <nil>
	// prefix acme:users:v1: <nil>
	// tag acme:org:7 <nil>
	// prefix acme: <nil>
	// everything <nil>
}

func ExampleScope_Validate() {
	for _, s := range []invalidate.Scope{
		{},
		invalidate.Prefix("acme", ""),
		invalidate.Tag("acme:users", "org:7"),
		invalidate.Tag("acme", strings.Repeat("x", invalidate.MaxTagLen+1)),
	} {
		err := s.Validate()
		fmt.Println(errors.Is(err, invalidate.ErrScope), err)
	}
	// Output:
	// true invalidate: bad scope: zero Scope; make one by Key, Prefix, Tag, Tenant or All
	// true invalidate: bad scope: prefix is empty: Tenant covers all keys of a tenant, All those of all tenants
	// true invalidate: bad scope: tenant of a tag has a colon in its 10 bytes: the first argument is the tenant alone
	// true invalidate: bad scope: tag has 257 bytes, at most 256
}

// An audit log says which keys an invalidation affected.
func ExampleScope_Kind() {
	describe := func(s invalidate.Scope) string {
		switch s.Kind() {
		case invalidate.KindKey:
			return "one value of " + s.Tenant()
		case invalidate.KindPrefix:
			return "all keys of " + s.Tenant() + " that begin with " + s.Text()
		case invalidate.KindTag:
			return "what " + s.Tenant() + " has tagged " + s.Text()
		case invalidate.KindAll:
			return "everything"
		}
		return "nothing"
	}
	fmt.Println(describe(invalidate.Tag("acme", "org:7")))
	fmt.Println(describe(invalidate.Prefix("acme", "users:")))
	fmt.Println(describe(invalidate.Scope{}))
	// Output:
	// what acme has tagged org:7
	// all keys of acme that begin with acme:users:
	// nothing
}
