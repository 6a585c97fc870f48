package redistier_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/tier/redistier"
)

// A client with these options obeys deadlines and leaves retries to the cache.
func ExampleNew() {
	rdb := redis.NewClient(redistier.Options(&redis.Options{Addr: "127.0.0.1:6379"}))
	defer rdb.Close()
	remote := redistier.New(rdb, redistier.Config{Prefix: "app"})
	fmt.Println(remote.Validate())
	// Output: <nil>
}

// A client that reads from replicas would return invalidated values.
func ExampleTier_Validate() {
	rdb := redis.NewClusterClient(redistier.Options(&redis.ClusterOptions{
		Addrs:          []string{"127.0.0.1:6379"},
		RouteByLatency: true,
	}))
	defer rdb.Close()
	err := redistier.New(rdb, redistier.Config{Prefix: "app"}).Validate()
	fmt.Println(errors.Is(err, redistier.ErrReplicaReads))
	fmt.Println(err)
	// Output:
	// true
	// redistier: client reads from replicas, which lag behind invalidations
}

// Options keeps the fields that are set, and sets the others for a cache.
func ExampleOptions() {
	opts := redistier.Options(&redis.Options{Addr: "127.0.0.1:6379", DialTimeout: 3 * time.Second})
	fmt.Println(opts.ContextTimeoutEnabled, opts.MaxRetries, opts.DialTimeout, opts.ReadTimeout)
	// Output: true -1 3s 2s
}
