package invalidate_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/twofold-go/twofold/invalidate"
)

func ExampleRegistry() {
	r := invalidate.NewRegistry(invalidate.RegistryConfig{})
	first, err := r.Register("acme:page:/", "post:7", "nav")
	if errors.Is(err, invalidate.ErrRegistryFull) {
		return // serve the page, but do not store it
	}
	if _, err := r.Register("acme:page:/post/7", "post:7"); err != nil {
		log.Print(err)
	}
	fmt.Println("post:7 is on", r.Keys("post:7"))

	// The front page is rendered anew. That the old one is gone is heard late.
	if _, err := r.Register("acme:page:/", "post:8", "nav"); err != nil {
		log.Print(err)
	}
	r.Unregister("acme:page:/", first)
	fmt.Println("post:7 is on", r.Keys("post:7"))
	fmt.Println("the front page is made of", r.Entities("acme:page:/"))
	fmt.Println(r.Len())
	// Output:
	// post:7 is on [acme:page:/ acme:page:/post/7]
	// post:7 is on [acme:page:/post/7]
	// the front page is made of [nav post:8]
	// 2 3 3
}
