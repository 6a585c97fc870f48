package redislog

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// MaxPrefix is the longest [Config.Prefix] in bytes.
const MaxPrefix = 128

// The defaults and limits of a [Config].
const (
	DefaultBound = 2 * time.Second
	MinBound     = 100 * time.Millisecond
	MaxBound     = time.Minute

	DefaultKeyRetention   = 20_000
	DefaultScopeRetention = 100_000
	MinRetention          = 100
	MaxRetention          = 10_000_000
)

// Config says how a [Log] uses Redis.
type Config struct {
	// Prefix starts every key, in braces. Caches that share a server but not their values
	// need different prefixes. It must have 1 to MaxPrefix bytes, and no braces.
	Prefix string

	// Bound is how long a process may trust what it knows after a Sync, between MinBound and
	// MaxBound. Use the same Bound in all processes of one log. No call takes longer than Bound. If
	// zero, it is DefaultBound.
	Bound time.Duration

	// KeyRetention and ScopeRetention are how many records each stream keeps at least, between
	// MinRetention and MaxRetention. A process that was away until scope records were trimmed also
	// discards the values of the remote tier. If zero, they are DefaultKeyRetention and
	// DefaultScopeRetention.
	KeyRetention   int
	ScopeRetention int

	// Logger gets one warning when the server denies INFO to scripts, and one when the log has
	// no witness. If nil, it is slog.Default().
	Logger *slog.Logger
}

func (c *Config) check() error {
	var errs []error
	if n := len(c.Prefix); n == 0 || n > MaxPrefix || strings.ContainsAny(c.Prefix, "{}") {
		errs = append(errs, fmt.Errorf("%w (has %d bytes)", ErrPrefix, n))
	}
	if c.Bound < MinBound || c.Bound > MaxBound {
		errs = append(errs, fmt.Errorf("%w (is %v)", ErrBound, c.Bound))
	}
	for _, n := range []int{c.KeyRetention, c.ScopeRetention} {
		if n < MinRetention || n > MaxRetention {
			errs = append(errs, fmt.Errorf("%w (is %d)", ErrRetention, n))
		}
	}
	return errors.Join(errs...)
}
