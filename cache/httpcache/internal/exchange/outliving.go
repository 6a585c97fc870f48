package exchange

import (
	"context"
	"net/http"
	"time"
)

// outliving is the context of a load without its end. It has http.ServerContextKey, as a server's
// handler has it. A handler such as a reverse proxy panics on a cut body only if the key is there.
// Without the key it returns as if the body were whole.
type outliving struct{ context.Context }

// Deadline reports that there is none.
func (*outliving) Deadline() (at time.Time, ok bool) { return at, false }

// Done returns nil: the context has no end.
func (*outliving) Done() <-chan struct{} { return nil }

// Err returns nil.
func (*outliving) Err() error { return nil }

// Value returns the values of the load's context.
func (c *outliving) Value(key any) any {
	v := c.Context.Value(key)
	if v == nil && key == http.ServerContextKey {
		return noServer
	}
	return v
}

// noServer serves nothing.
var noServer = &http.Server{} //nolint:gosec // it serves nothing
