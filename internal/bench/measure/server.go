package measure

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

// Server is the state that a Redis server reports at one moment.
type Server struct {
	CPU     time.Duration
	In, Out int64            // bytes on the network
	Calls   map[string]int64 // commands, by name in lower case
}

// LookAt reads the state of a server. It costs calls of info. It fails by [setup.Check].
func LookAt(ctx context.Context, rdb *redis.Client) Server {
	s := Server{Calls: map[string]int64{}}
	for _, section := range []string{"cpu", "stats", "commandstats"} {
		for line := range strings.Lines(setup.Must(rdb.Info(ctx, section).Result())) {
			s.read(strings.TrimSpace(line))
		}
	}
	return s
}

// read parses a line of INFO.
func (s *Server) read(line string) {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return
	}
	switch {
	case name == "used_cpu_sys", name == "used_cpu_user":
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			s.CPU += time.Duration(f * float64(time.Second))
		}
	case name == "total_net_input_bytes":
		s.In, _ = strconv.ParseInt(value, 10, 64)
	case name == "total_net_output_bytes":
		s.Out, _ = strconv.ParseInt(value, 10, 64)
	case strings.HasPrefix(name, "cmdstat_"):
		_, calls, _ := strings.Cut(value, "calls=")
		calls, _, _ = strings.Cut(calls, ",")
		if n, err := strconv.ParseInt(calls, 10, 64); err == nil {
			s.Calls[strings.TrimPrefix(name, "cmdstat_")] = n
		}
	}
}

// Since returns the difference between two states, without the calls of info.
func (s Server) Since(before Server) Server {
	d := Server{CPU: s.CPU - before.CPU, In: s.In - before.In, Out: s.Out - before.Out, Calls: maps.Clone(s.Calls)}
	for name, n := range before.Calls {
		d.Calls[name] -= n
	}
	maps.DeleteFunc(d.Calls, func(name string, n int64) bool { return n == 0 || name == "info" })
	return d
}
