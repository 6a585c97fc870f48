package exchange

import (
	"context"
	"net/http"
)

// outliving is the context of a load without its end. It has http.ServerContextKey, as a server's
// handler has it. A handler such as a reverse proxy panics on a cut body only if the key is there.
// Without the key it returns as if the body were whole.
type outliving struct {
	context.Context // without an end: context.Background
	load            context.Context
}

// Value returns the values of the load's context.
func (c *outliving) Value(key any) any {
	v := c.load.Value(key)
	if v == nil && key == http.ServerContextKey {
		return noServer
	}
	return v
}

// noServer serves nothing.
var noServer = &http.Server{} //nolint:gosec // it serves nothing
