package logtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// Two processes on one log. The second finds the first one's append after its cursor. A caller that
// knows more than the log makes it start another epoch.
func ExampleMemory() {
	ctx := context.Background()
	server := logtest.NewMemory(logtest.MemoryConfig{})
	first, second := logtest.NewFaulty(server), logtest.NewFaulty(server)

	page, _ := second.Sync(ctx, invalidate.Cursor{}, invalidate.Append{})
	at := invalidate.Cursor{Key: page.Keys[0].At, Scope: page.Scopes[0].At}
	fmt.Println("the first Sync starts an epoch:", page.Keys[0].Bump, page.Scopes[0].Bump)

	fence := invalidate.Fence{Scope: invalidate.Tag("acme", "user:42")}
	_, _ = first.Sync(ctx, invalidate.Cursor{}, invalidate.Append{Scopes: []invalidate.Fence{fence}})
	page, _ = second.Tail(ctx, at)
	fmt.Println("heard of number", page.Scopes[0].At.N(), page.Scopes[0].Fences[0] == fence)

	lagged := logtest.NewMemory(logtest.MemoryConfig{}) // another server, which never had the record
	page, _ = lagged.Sync(ctx, at, invalidate.Append{})
	fmt.Println("the next Sync starts another:", page.Scopes[0].Bump, page.Scopes[0].At.Epoch())
	// Output:
	// the first Sync starts an epoch: true true
	// heard of number 1 true
	// the next Sync starts another: true 2
}

// A process whose connection breaks after its append.
func ExampleFaulty() {
	ctx := context.Background()
	server := logtest.NewMemory(logtest.MemoryConfig{})
	log := logtest.NewFaulty(server)

	log.LoseReplies(errors.New("connection reset"))
	fence := invalidate.Fence{Scope: invalidate.Tag("acme", "user:42")}
	_, err := log.Sync(ctx, invalidate.Cursor{}, invalidate.Append{Scopes: []invalidate.Fence{fence}})
	page, _ := server.Sync(ctx, invalidate.Cursor{}, invalidate.Append{})
	fmt.Println(err, "but there are", len(page.Scopes), "records")
	// Output:
	// connection reset but there are 2 records
}

// Call the suite from a test of your own log.
func ExampleTestLog() { //nolint:testableexamples // it needs a *testing.T to run
	_ = func(t *testing.T) { // func TestMyLog(t *testing.T)
		logtest.TestLog(t, func(t *testing.T) func() invalidate.Log {
			server := logtest.NewMemory(logtest.MemoryConfig{})
			return func() invalidate.Log { return server }
		})
	}
}
