package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
)

// Settings are the operator's settings. Zero fields mean the defaults.
type Settings struct {
	Tick        time.Duration      // how often the collector looks for due sources. Zero means a minute
	Concurrency int                // how many sources are fetched at a time. Zero means 5
	PerHost     int                // how many of these from one host. Zero means 2
	Probe       time.Duration      // see [schedule.Policy]. Zero means never
	Intervals   schedule.Intervals // between two fetches of a source
}

// Env merges the variables of a .env file with those of the process, which win.
func Env(file map[string]string, process []string) map[string]string {
	env := map[string]string{}
	maps.Copy(env, file)
	for _, kv := range process {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	return env
}

// ReadEnvFile reads a .env file: lines of NAME=value, with optional quotes and export, and
// comments with #.
func ReadEnvFile(r io.Reader) (map[string]string, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("collector: .env file: %w", err)
	}
	env := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("collector: line %d of the .env file is not NAME=value", i+1)
		}
		if q := value; len(q) > 1 && (q[0] == '"' || q[0] == '\'') && q[len(q)-1] == q[0] {
			value = q[1 : len(q)-1]
		}
		env[name] = value
	}
	return env, nil
}

// SettingsFrom reads the settings from an environment. types are the types that have
// fetchers. The error names every fault.
func SettingsFrom(env map[string]string, types []string) (s Settings, err error) {
	var errs []error
	number := func(name string, least, most int) int {
		n, err := strconv.ParseUint(env[name], 10, 31) // digits only
		if env[name] != "" && (err != nil || int(n) < least || int(n) > most) {
			errs = append(errs, fmt.Errorf("%s: %q is not a whole number from %d to %d", name, env[name], least, most))
		}
		return int(n)
	}
	const day = 24 * 60 * 60
	old := number("COLLECTOR_INTERVAL", 1, day) // the old name
	s.Tick = time.Duration(cmp.Or(number("COLLECTOR_TICK", 1, day), old)) * time.Second
	s.Concurrency = number("COLLECTOR_CONCURRENCY", 1, 256)
	s.PerHost = number("COLLECTOR_PER_HOST", 1, 256)
	s.Probe = time.Duration(number("COLLECTOR_PROBE_HOURS", 0, 24*30)) * time.Hour
	const prefix = "FETCH_INTERVAL_"
	minutes := map[string]string{}
	for name, value := range env {
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) && value != "" {
			minutes[name[len(prefix):]] = value
		}
	}
	s.Intervals, err = schedule.Set(minutes, types)
	if err := errors.Join(append(errs, err)...); err != nil {
		return Settings{}, fmt.Errorf("collector: %w", err)
	}
	return s, nil
}

// Signals returns a context that the first SIGTERM or SIGINT ends, and a channel that the
// second one closes. stop ends the context and the handling of signals.
func Signals(parent context.Context) (ctx context.Context, kill <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	got, hurry := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(got, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for _, react := range []func(){cancel, func() { close(hurry) }} {
			if _, ok := <-got; ok {
				react()
			}
		}
	}()
	return ctx, hurry, sync.OnceFunc(func() {
		signal.Stop(got) // no signal is sent after this
		close(got)
		cancel()
	})
}
