package redislog_test

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/invalidate/redislog"
)

// The log is on the same server as the remote tier's values, and has a client of its own.
func ExampleNew() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	defer rdb.Close()
	log := redislog.New(rdb, redislog.Config{Prefix: "app"})
	defer log.Close()
	fmt.Println(log.Bound(), log.Validate())
	// Output: 2s <nil>
}

// Validate reports every fault of a configuration together.
func ExampleLog_Validate() {
	rdb := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": "127.0.0.1:6379"}})
	defer rdb.Close()
	fmt.Println(redislog.New(rdb, redislog.Config{Prefix: "{app}", Bound: 1}).Validate())
	// Output:
	// redislog: Prefix must have 1 to 128 bytes and no braces, which mark the part that chooses a cluster's slot (has 5 bytes)
	// redislog: Bound must be 100ms to 1m0s (is 1ns)
	// redislog: redis.Ring moves the log to another server when one is down
}
