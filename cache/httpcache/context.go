package httpcache

import (
	"context"
	"net/http"
	"slices"
)

// contextKeys are the keys whose values a handler may see beside the program's.
var contextKeys = []any{http.ServerContextKey, http.LocalAddrContextKey}

// plainContext is a client's context without what outer handlers have put into
// it: whatever that is, it may be about the client, and what is rendered is for
// everybody.
type plainContext struct {
	context.Context
	keys []any
}

// Value returns the values of the known keys alone.
func (c *plainContext) Value(key any) any {
	if slices.Contains(contextKeys, key) || slices.Contains(c.keys, key) {
		return c.Context.Value(key)
	}
	return nil
}

// AfterFunc spares package context a goroutine for each derived context.
func (c *plainContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.Context, f)
}

// asOfServer returns ctx as a handler of a server has it. Handlers such as a reverse proxy tell
// by it whether they may panic when a body is cut short; otherwise they return as if it were
// whole.
func asOfServer(ctx context.Context) context.Context {
	if ctx.Value(http.ServerContextKey) != nil {
		return ctx
	}
	return context.WithValue(ctx, http.ServerContextKey, &http.Server{}) //nolint:gosec // it serves nothing
}
