package redistier_test

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/tier/redistier"
)

// A client for the tier obeys deadlines and leaves retries to the cache.
func ExampleNew() {
	rdb := redis.NewClient(&redis.Options{
		Addr:                  "127.0.0.1:6379",
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
	})
	defer rdb.Close()
	remote := redistier.New(rdb, redistier.Config{Prefix: "app"})
	fmt.Println(remote.Validate())
	// Output: <nil>
}

// Clients that read from replicas would serve what was invalidated.
func ExampleTier_Validate() {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                 []string{"127.0.0.1:6379"},
		ContextTimeoutEnabled: true,
		RouteByLatency:        true,
	})
	defer rdb.Close()
	err := redistier.New(rdb, redistier.Config{Prefix: "app"}).Validate()
	fmt.Println(errors.Is(err, redistier.ErrReplicaReads))
	fmt.Println(err)
	// Output:
	// true
	// redistier: client reads from replicas, which lag behind invalidations
}

// On a network that is not trusted, a length in a reply must not be able to take
// all memory.
func ExampleLimitReplies() {
	rdb := redis.NewClient(&redis.Options{
		Addr:                  "127.0.0.1:6379",
		ContextTimeoutEnabled: true,
		Dialer:                redistier.LimitReplies(nil, 64<<20),
	})
	defer rdb.Close()
	fmt.Println(redistier.New(rdb, redistier.Config{Prefix: "app"}).Validate())
	// Output: <nil>
}
