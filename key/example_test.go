package key_test

import (
	"fmt"

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
	// key: type cannot be a key: key_test.session.owner: unexported, so left out of the JSON
}
