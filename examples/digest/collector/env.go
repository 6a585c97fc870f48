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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/joho/godotenv"

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

// ReadEnv reads a .env file and adds the variables of the process, which win. file may be nil.
func ReadEnv(file io.Reader, process []string) (map[string]string, error) {
	env := map[string]string{}
	if file != nil {
		var err error
		env, err = godotenv.Parse(file)
		wrong := func(name string) bool { return name == "" || strings.ContainsAny(name, " \t") }
		if err != nil || slices.ContainsFunc(slices.Collect(maps.Keys(env)), wrong) {
			return nil, errors.New("collector: the .env file has a line that is not NAME=value") // err quotes secrets
		}
	}
	for _, kv := range process {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
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
