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
	section := func(of, name string) map[string]string { return setup.Must(rdb.InfoMap(ctx, of).Result())[name] }
	cpu, stats, calls := section("cpu", "CPU"), section("stats", "Stats"), section("commandstats", "Commandstats")
	number := func(text string) float64 { return setup.Must(strconv.ParseFloat(text, 64)) }
	s := Server{
		CPU: time.Duration((number(cpu["used_cpu_sys"]) + number(cpu["used_cpu_user"])) * float64(time.Second)),
		In:  int64(number(stats["total_net_input_bytes"])), Out: int64(number(stats["total_net_output_bytes"])),
		Calls: map[string]int64{},
	}
	for name, text := range calls {
		_, text, _ = strings.Cut(text, "calls=")
		text, _, _ = strings.Cut(text, ",")
		s.Calls[strings.TrimPrefix(name, "cmdstat_")] = int64(number(text))
	}
	return s
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
