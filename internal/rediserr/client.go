package rediserr

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Sentinels is the address that go-redis gives to a client that asks Sentinels.
const Sentinels = "FailoverClient"

// Cluster is the part of *redis.ClusterClient that the adapters use.
type Cluster interface {
	redis.UniversalClient
	Options() *redis.ClusterOptions
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ReloadState(ctx context.Context)
}

// Server identifies the server of a client within the program. It is empty unless the client is one of
// go-redis itself, for one server: a type that embeds it may send commands elsewhere. Two clients count as
// two servers, because no option tells where a Dialer or a Sentinel leads.
func Server(rdb redis.UniversalClient) string {
	if c, ok := rdb.(*redis.Client); ok && c != nil {
		return fmt.Sprintf("redis client %p", c)
	}
	return ""
}

// Refusals are an adapter's errors for clients that do not always talk to the primary.
type Refusals struct {
	NoClient     error // nil, or a wrapper around nil
	Client       error // of another type
	Ring         error
	ReplicaReads error
	ClientCache  error
}

// Inspect returns the options of a client of one server, or a client of a cluster. Otherwise it
// returns one of the refusals. Types that embed a client of go-redis are accepted. Other types hide
// where they send their commands.
func Inspect(rdb redis.UniversalClient, no *Refusals) (one *redis.Options, many Cluster, err error) {
	if rdb == nil {
		return nil, nil, no.NoClient
	}
	defer func() {
		if recover() != nil { // a nil client, or a wrapper around one
			one, many, err = nil, nil, no.NoClient
		}
	}()
	switch c := rdb.(type) {
	case interface{ Options() *redis.RingOptions }:
		return nil, nil, no.Ring
	case interface{ Options() *redis.Options }:
		one = c.Options()
		if one.ClientSideCache != nil || one.ClientSideCacheConfig != nil {
			err = no.ClientCache
		}
	case Cluster:
		many = c
		if o := c.Options(); o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
			err = no.ReplicaReads
		}
	default:
		err = no.Client
	}
	return one, many, err
}
