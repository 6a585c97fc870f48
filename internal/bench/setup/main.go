package setup

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// ErrFound means that a program works, and has found something wrong. The details are already
// printed.
var ErrFound = errors.New("not as expected")

// Main runs a program that may start itself again: with env in the environment it runs child. An
// interrupt ends the context of run. The exit status is 1 after [ErrFound], and 2 after other errors.
func Main(name, env string, child func() error, run func(context.Context) error) {
	redis.SetLogger(silent{}) // ended connections, and servers that are still starting, are expected
	Child(name, env, child)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	exit(name, err)
}

// Child does Main's work in a child, and exits. Elsewhere it does nothing.
func Child(name, env string, child func() error) {
	if os.Getenv(env) != "" {
		exit(name, child())
	}
}

func exit(name string, err error) {
	switch {
	case err == nil:
		os.Exit(0)
	case !errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(os.Stderr, name+":", err)
	}
	if errors.Is(err, ErrFound) {
		os.Exit(1)
	}
	os.Exit(2)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Deliver writes the results of a program to a file, or to the standard output if there is no path.
func Deliver(path, text string) error {
	if path == "" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // for everybody to read
}
