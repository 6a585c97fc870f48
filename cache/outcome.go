package cache

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/invalidate"
)

// Source says where a value came from.
type Source uint8

// The sources of a value. The zero Source is none: the call failed.
const (
	Local  Source = iota + 1 // this process's tier
	Remote                   // the shared tier
	Load                     // the loader
)

// String returns "local", "remote", "load", or "none".
func (s Source) String() string {
	switch s {
	case Local:
		return "local"
	case Remote:
		return "remote"
	case Load:
		return "load"
	}
	return "none"
}

// outcome is what a flight ends with.
type outcome[K comparable, V any] struct {
	it        *item[K, V] // the value or remembered absence; nil when err is set
	src       Source
	stale     staleReason // not zero: it is served although it is not fresh
	err       error       // why there is no value
	old       *item[K, V] // beside err: what may be served in its place
	mark      invalidate.Mark
	overtaken bool // invalidated since mark; only for those who asked before
	again     bool // nothing was learnt; whoever waits starts over
	panicked  *PanicError
	span      *trace.SpanContext // of the load, for the spans of those who waited for it; nil: it has none
}

// staleReason says why a stale value was served.
type staleReason uint8

const (
	notStale     staleReason = iota
	revalidating             // within Stale, a refresh runs
	failedLoad               // within StaleIfError, the load failed
	softTimeout              // the load takes longer than SoftTimeout
)

func (r staleReason) String() string {
	return [...]string{"none", "revalidate", "error", "timeout"}[r]
}
