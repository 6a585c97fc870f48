package follow

import (
	"context"
	"log/slog"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Config configures a [Follower]. The zero value follows the log and removes no cells.
type Config struct {
	// Origin is the origin of the lease's times. Zero means the time of the call of Follow.
	Origin time.Time

	// Remove removes the cells of keys from the remote tier, for all processes. It is called
	// concurrently. If it fails for only some keys, its error has a method FailedKeys() []string that
	// names them, as *tier.KeysError does. Nil means that there is no remote tier.
	Remove func(ctx context.Context, keys []string) error

	// Tier names the remote tier that Remove removes from. All processes that share the tier use the
	// same name. Tier, Remove and Named are the log's hooks, too.
	Tier string

	// Named is a hook of the log; see [invalidate.Hooks]. Nil: not called.
	Named func(keys []string) []invalidate.Scope

	// Names returns the cell names of keys, for a log on the server of the cells, which removes and stores
	// them itself. Nil means that Remove removes them.
	Names func(keys []string) []string

	// OnLag receives the time that records took from the log to this process, one reading per page.
	// It compares two clocks, so it is approximate. It is called from the follower's goroutines and
	// must be quick. Nil: not called.
	OnLag func(time.Duration)

	// OnApplied receives the fences of each record that another process appended, in the log's order,
	// after they are applied here. Where records are missing it receives a fence of everything. Records
	// that were in the log before this process are left out. It is called under a lock and must be
	// quick. It may keep the slice but not change it. Nil: not called.
	OnApplied func(fences []invalidate.Fence)

	// Logger receives one line per change of state. Nil means slog.Default.
	Logger *slog.Logger

	// Wait bounds how long a call of Invalidate waits before it returns a PendingError. Zero means
	// 250 ms.
	Wait time.Duration

	// MaxPending bounds the scopes that wait, without a caller, for an unreachable log or remote
	// tier. Beyond it, one invalidation of everything replaces them, so their cost is bounded as
	// well. Zero means 65,536.
	MaxPending int
}
