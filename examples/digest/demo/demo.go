package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// ErrMissed is wrapped by the error of a demonstration in which a promise was not kept.
var ErrMissed = errors.New("demo: promises were not kept")

// What a Config leaves zero.
const (
	DefaultUsers = 1000
	DefaultSeed  = 1
)

// Config says what is demonstrated. The zero value is ready to use, and prints nothing.
type Config struct {
	Users int    // 0: DefaultUsers
	Seed  uint64 // of users and news; 0: DefaultSeed

	// Uniform lets users choose sources as if none were more popular than another, which
	// keeps the promises of the table less well: see package population.
	Uniform bool

	DB string // the database's file, which must not be there yet; empty: a temporary one

	// Summariser writes the digests. Nil: summary.Extractive, whatever the environment
	// asks for: a demonstration should not cost anything.
	Summariser summary.Summariser

	Out      io.Writer    // gets the tables; nil: nobody does
	Progress io.Writer    // gets a progress bar if it is a terminal; nil: nobody does
	Log      *slog.Logger // nil: nobody is told

	windows int                                   // of four hours, the last ones of the day: 2 to 6; 0: all 6
	tamper  func(context.Context, *app.App) error // for tests: called after each generation
}

// Run runs the demonstration. It returns an error that wraps [ErrMissed] if a promise was
// not kept; others say that it could not be run. When ctx ends it stops soon. Whatever it
// has opened or made is closed and removed when it returns, but for a database with a
// name.
func Run(ctx context.Context, cfg Config) (err error) {
	cfg.Users = cmp.Or(cfg.Users, DefaultUsers)
	cfg.Seed = cmp.Or(cfg.Seed, DefaultSeed)
	cfg.windows = cmp.Or(cfg.windows, allWindows)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Summariser == nil {
		cfg.Summariser = summary.NewExtractive()
	}
	if cfg.Out == nil {
		cfg.Out = io.Discard
	}
	// Nobody wants a thousand users who are made up among the ones there are.
	if _, err := os.Stat(cfg.DB); err == nil {
		return fmt.Errorf("demo: the database %s: %w", cfg.DB, fs.ErrExist)
	}
	if cfg.DB == "" {
		dir, err := os.MkdirTemp("", "digest-demo")
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		cfg.DB = filepath.Join(dir, "digest.db")
	}
	return run(ctx, cfg)
}

func run(ctx context.Context, cfg Config) (err error) {
	began := time.Now()
	s := newScenario(cfg)
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	err = s.live(ctx)
	s.bar.finish()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := s.report(ctx, time.Since(began)); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return s.promises.err()
}
