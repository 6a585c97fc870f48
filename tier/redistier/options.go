package redistier

import (
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

// options are the values that Options sets. Its documentation gives the reasons.
var options = map[string]any{
	"ContextTimeoutEnabled": true,
	"MaxRetries":            -1,
	"DialTimeout":           time.Second,
	"DialerRetries":         1,
	"ReadTimeout":           2 * time.Second,
	"DisableIdentity":       true,
}

// Options returns a copy of a client's options, and sets what the tier and the log need. It does
// not change fields that are set. Nil counts as the zero options. Then the type must be named:
// Options[redis.Options](nil).
//
//   - ContextTimeoutEnabled is true. Otherwise the client waits for its own timeouts
//     instead of the policy's RemoteTimeout and the caller's deadline.
//   - MaxRetries is -1: none. The cache has a breaker, loads from the source, and retries
//     invalidations itself. A retry of the client would only use up the call's deadline. The
//     client still follows the redirections of a Cluster.
//   - DialTimeout is 1 s instead of 5 s. The client retries a connection that is not made within
//     a second, so Redis is used again soon after a network fault.
//   - DialerRetries is 1 instead of 5. A refused connection fails immediately, and the breaker
//     learns of it.
//   - ReadTimeout is 2 s instead of 5 s, and WriteTimeout follows it. It ends the first command
//     of a connection to a server that hangs. Commands of the tier have their own deadlines.
//     Set more when the program shares the client and runs slow commands.
//   - DisableIdentity is true. Servers before Redis 7.2 refuse CLIENT SETINFO, and the client
//     does not need it.
//
// go-redis chooses the size of the pool, the protocol and everything else. Options cannot tell a
// false from a field that is not set: to have a false, set it in the result.
//
//	rdb := redis.NewClient(redistier.Options(&redis.Options{Addr: addr}))
func Options[O redis.Options | redis.ClusterOptions | redis.FailoverOptions | redis.UniversalOptions](opts *O) *O {
	o := new(O)
	if opts != nil {
		*o = *opts
	}
	fields := reflect.ValueOf(o).Elem()
	for name, value := range options {
		if f := fields.FieldByName(name); f.IsZero() {
			f.Set(reflect.ValueOf(value))
		}
	}
	return o
}
