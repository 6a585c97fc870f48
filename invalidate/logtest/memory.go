package logtest

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
)

// MemoryConfig configures a [Memory]. The zero MemoryConfig is useful.
type MemoryConfig struct {
	Bound time.Duration // 0: 2 seconds
}

// Memory is a log in this process. It keeps every rule of [invalidate.Log], and the newest 100,000
// records of each sequence. Share one Memory between several sets of tiers to simulate several
// processes. [Faulty] makes it fail for one of them.
//
// The zero Memory is an empty log with the zero MemoryConfig. All methods may be called
// concurrently. It has no goroutine. Use a Memory of a testing/synctest bubble in that bubble
// only.
type Memory struct{ log memlog.Log }

var _ invalidate.Log = (*Memory)(nil)

// NewMemory returns an empty log.
func NewMemory(config MemoryConfig) *Memory {
	return &Memory{log: memlog.Log{Config: memlog.Config{Bound: config.Bound}}}
}

// Validate returns nil.
func (m *Memory) Validate() error { return m.log.Validate() }

// Open does nothing.
func (m *Memory) Open(h invalidate.Hooks) { m.log.Open(h) }

// Server returns nothing.
func (m *Memory) Server() string { return m.log.Server() }

// Close does nothing, so the log can be used again.
func (m *Memory) Close() error { return m.log.Close() }

// Bound returns the Bound of the MemoryConfig, or the default.
func (m *Memory) Bound() time.Duration { return m.log.Bound() }

// Sync appends a and returns the records after at. It fails when ctx has ended, when a does not fit
// into a record of each sequence, or when at is in the last epoch that a position can hold. A Sync that
// fails has appended nothing.
func (m *Memory) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	return m.log.Sync(ctx, at, a)
}

// Tail waits for records after at, and returns an empty page after a quarter of Bound. It fails
// only when ctx has ended.
func (m *Memory) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	return m.log.Tail(ctx, at)
}
