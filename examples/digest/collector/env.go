package collector

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
)

// Settings are what operators set. The zero value means the defaults.
type Settings struct {
	Tick        time.Duration      // how often to look for what is due. 0: a minute
	Concurrency int                // how many sources are fetched at a time. 0: 5
	PerHost     int                // of these, how many on one host. 0: 2
	Probe       time.Duration      // how long after its pause a source is tried again. 0: never
	Intervals   schedule.Intervals // between two fetches of a source
}

// Env is the environment of a program: what is in its .env file and what the process
// was started with, which wins.
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

// ReadEnvFile reads a .env file: lines of NAME=value, the value in quotes or not, and
// lines that are empty or begin with #.
func ReadEnvFile(r io.Reader) (map[string]string, error) {
	env := map[string]string{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("collector: line %d of the .env file is not NAME=value", n)
		}
		if q := value; len(q) > 1 && (q[0] == '"' || q[0] == '\'') && q[len(q)-1] == q[0] {
			value = q[1 : len(q)-1]
		}
		env[name] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("collector: .env file: %w", err)
	}
	return env, nil
}

// SettingsFrom reads settings from an environment. Types are those that can be fetched,
// beside the ones that have an interval by default. Every value is read strictly, and
// all faults are named: a typo that passed as a default would show up as a feed that
// is fetched every four hours and not every fifteen minutes. A variable that is set to
// nothing is not set.
//
//   - COLLECTOR_TICK: seconds. Without it COLLECTOR_INTERVAL, its name of old.
//   - COLLECTOR_CONCURRENCY, COLLECTOR_PER_HOST: how many at a time.
//   - COLLECTOR_PROBE_HOURS: when a source that was paused for its failures is tried
//     again; 0 or none is never.
//   - FETCH_INTERVAL_<TYPE>: minutes; FETCH_INTERVAL_DEFAULT for types without any.
func SettingsFrom(env map[string]string, types []string) (Settings, error) {
	var s Settings
	var errs []error
	number := func(name string, least, most int) int {
		n, err := readNumber(env[name], least, most)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return n
	}
	const day = 24 * 60 * 60
	old := number("COLLECTOR_INTERVAL", 1, day) // also if it is not used: it is a fault all the same
	s.Tick = time.Duration(number("COLLECTOR_TICK", 1, day)) * time.Second
	if s.Tick == 0 {
		s.Tick = time.Duration(old) * time.Second
	}
	s.Concurrency = number("COLLECTOR_CONCURRENCY", 1, 256)
	s.PerHost = number("COLLECTOR_PER_HOST", 1, 256)
	s.Probe = time.Duration(number("COLLECTOR_PROBE_HOURS", 0, 24*30)) * time.Hour

	minutes := map[string]string{}
	for name, value := range env {
		const prefix = "FETCH_INTERVAL_"
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) && value != "" {
			minutes[name[len(prefix):]] = value
		}
	}
	intervals, err := schedule.Defaults().Set(minutes, types)
	s.Intervals = intervals
	if err := errors.Join(append(errs, err)...); err != nil {
		return Settings{}, fmt.Errorf("collector: %w", err)
	}
	return s, nil
}

func readNumber(s string, least, most int) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 31) // digits and nothing else
	if err != nil || int(n) < least || int(n) > most {
		return 0, fmt.Errorf("%q is not a whole number from %d to %d", s, least, most)
	}
	return int(n), nil
}
