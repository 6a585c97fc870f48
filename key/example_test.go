package key_test

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/twofold-go/twofold/key"
)

func ExampleSpace_Key() {
	users := key.Space{Tenant: "acme", Namespace: "users:v1"}
	k, err := users.Key(key.Int(42))
	fmt.Println(k, err)
	k, err = users.Key(key.Text("ann:admin"))
	fmt.Println(k, err)
	_, err = users.Key("ann:admin")
	fmt.Println(err)
	// Output:
	// acme:users:v1:42 <nil>
	// acme:users:v1:ann%3Aadmin <nil>
	// key: id not spelled as Text would: id of 9 bytes
}

func ExampleParse() {
	k, _ := key.Parse("acme:users:v1:ann%3Aadmin")
	name, _ := key.Unescape(k.ID())
	fmt.Println(k.Space().Tenant, k.Space().Namespace, name)
	// Output: acme users:v1 ann:admin
}

func ExampleHash() {
	type query struct {
		Page int
		Org  string
	}
	id, err := key.Hash(query{Page: 2, Org: "acme"}) // SHA-256 of {"Org":"acme","Page":2}
	fmt.Println(id, err)
	// Output: g8DhZeROvfl2SpY7cSEx5pj6Ov5jZZcD7qU1KOLdQAs <nil>
}

func ExampleCheckType() {
	type session struct {
		User  int64
		owner *string
	}
	fmt.Println(key.CheckType[int64]())
	fmt.Println(key.CheckType[session]())
	// Output:
	// <nil>
	// key: type cannot be a key: key_test.session.owner: unexported, so left out of the JSON: export it, or make the key of a struct without the field
}

func ExampleOf() {
	type pair struct{ Org, User int }
	name, _ := key.Of("ann:admin")     // text is escaped
	number, _ := key.Of(int64(-7))     // numbers are decimal
	hashed, err := key.Of(pair{7, 42}) // anything else is hashed
	fmt.Println(name, number, len(hashed), err)
	fmt.Println(key.Uint(42) == key.Int(42))
	fmt.Println(key.Hashes[string](), key.Hashes[pair]())
	// Output:
	// ann%3Aadmin -7 43 <nil>
	// true
	// false true
}

// Each kind of invalid key has its own error.
func Example_errors() {
	users := key.Space{Tenant: "acme", Namespace: "users"}
	_, empty := users.Key("")
	_, long := users.Key(key.Text(strings.Repeat("x", key.MaxLen+1)))
	_, colon := key.Space{Tenant: "ac:me", Namespace: "users"}.Key("1")
	_, brace := key.Space{Tenant: "{acme}", Namespace: "users"}.Key("1")
	_, latin1 := key.Space{Tenant: "caf\xe9", Namespace: "users"}.Key("1")
	_, spelling := key.Unescape("100%")
	_, number := key.Hash([]float64{math.NaN()})
	fmt.Println(
		errors.Is(empty, key.ErrEmpty),
		errors.Is(long, key.ErrTooLong),
		errors.Is(colon, key.ErrSeparator),
		errors.Is(brace, key.ErrCharacter),
		errors.Is(latin1, key.ErrUTF8),
		errors.Is(spelling, key.ErrEscape),
		errors.Is(number, key.ErrNumber),
		errors.Is(key.CheckType[chan int](), key.ErrType),
	)
	// Output: true true true true true true true true
}
