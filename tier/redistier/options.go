package redistier

import (
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

// options are what Options sets. The reasons are in its documentation.
var options = map[string]any{
	"ContextTimeoutEnabled": true,
	"MaxRetries":            -1,
	"DialTimeout":           time.Second,
	"DialerRetries":         1,
	"ReadTimeout":           2 * time.Second,
	"DisableIdentity":       true,
}

// Options returns a copy of a client's options, with those set that the tier and the
// log ask for. What opts sets stays as it is. Nil counts as the zero options, whose type
// must be named then: Options[redis.Options](nil).
//
//   - ContextTimeoutEnabled is true. Otherwise the client waits for its own timeouts
//     instead of the policy's RemoteTimeout and the caller's deadline.
//   - MaxRetries is -1: none. The cache has a breaker, goes to the source, and tries
//     invalidations again itself. A retry would only use up the call's deadline. The
//     redirections of a Cluster are still followed.
//   - DialTimeout is 1 s instead of 5 s. A connection that is not made within a second
//     is tried again, so Redis is used soon after a network fault.
//   - DialerRetries is 1 instead of 5: a connection that is refused fails at once, and
//     the breaker learns of it.
//   - ReadTimeout is 2 s instead of 5 s, and WriteTimeout follows it. It ends the first
//     command of a connection to a server that hangs. Commands of the tier have
//     deadlines of their own. Set more where the program shares the client and runs slow
//     commands.
//   - DisableIdentity is true. Servers before Redis 7.2 refuse CLIENT SETINFO, and no
//     new connection needs it.
//
// The size of the pool, the protocol and everything else is left to go-redis. A false
// cannot be told from a field that was not set: to have one, set it in the result.
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
