package httpcache

import (
	"context"
	"net/http"
	"slices"
)

// contextKeys are the keys of context values that every handler may see.
var contextKeys = []any{http.ServerContextKey, http.LocalAddrContextKey}

// plainContext is a client's context without the values of outer handlers. Such a value may be
// about the client, and the rendering is for everybody.
type plainContext struct{ context.Context }

// Value returns the values of the known keys only.
func (c *plainContext) Value(key any) any {
	if slices.Contains(contextKeys, key) {
		return c.Context.Value(key)
	}
	return nil
}

// AfterFunc saves package context a goroutine for each derived context.
func (c *plainContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.Context, f)
}
