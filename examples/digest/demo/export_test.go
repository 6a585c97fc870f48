package demo

import (
	"context"
	"strings"

	"github.com/twofold-go/twofold/examples/digest/app"
)

// Short returns cfg for a day of fewer periods of four hours.
func Short(cfg Config, windows int) Config {
	cfg.windows = windows
	return cfg
}

// Tampered returns cfg with somebody who meddles with the program after each generation.
func Tampered(cfg Config, tamper func(ctx context.Context, a *app.App) error) Config {
	cfg.tamper = tamper
	return cfg
}

// Table returns the verdict on a day on which of so many users, who asked once, so many
// were the first of their combination.
func Table(users int, misses int64) (string, error) {
	s := &scenario{cfg: Config{Users: users}}
	s.daily = combinations{int64(users), misses}
	s.worst = s.daily
	s.table()
	var out strings.Builder
	s.promises.print(&out)
	return out.String(), s.promises.err()
}

// Saved returns how many calls were spared, of so many requests that were hits and misses,
// of which so many came to nothing, with so many calls made.
func Saved(hits, misses, empty, calls int64) int64 {
	t := tally{memory: hits, misses: misses, empty: empty}
	return t.saved(calls)
}
