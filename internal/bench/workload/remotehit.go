package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
)

// Workload B reads values that only Redis has. The floor of each codec is a GET by the library's
// own client, plus the same codec. The rest of a hit's cost is the library's own.

const (
	remoteKeys   = 1000
	clientCPU    = "client-cpu-ns/op"
	serverCPU    = "server-cpu-ns/op"
	perSecond    = "op/s"
	commandsOp   = "commands/op"
	scriptsOp    = "scripts/op"
	barePing     = "PING"
	bareGet      = "GET"
	autoPipeline = "GET, autopipelined"
	rueidisGet   = "GET by rueidis"
)

// remoteCodecs are the codecs of workload B. Snappy is configured to try values of 1 KiB, which it
// skips by default.
var remoteCodecs = []codec.Codec{codec.JSON, codec.CBOR, codec.Snappy(codec.JSON, 512), codec.Snappy(codec.CBOR, 512)}

var remoteGoroutines = []int{1, 8, 64}

func remoteSetting(goroutines int) string {
	if goroutines == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}

func remoteLine(goroutines int, who string) report.Line {
	return report.Line{Workload: "B", Setting: remoteSetting(goroutines), Contender: who}
}

func bareName(c codec.Codec) string { return "GET + " + c.ID() }
func oursName(c codec.Codec) string { return "twofold, " + c.ID() }

// remoteBench holds the contenders of workload B.
type remoteBench struct {
	e      *Env
	rdb    *redis.Client
	all    []reading
	closed []func()
}

// reading is one way to read a key.
type reading struct {
	name string
	read func(ctx context.Context, i int) error
}

func runRemoteHits(ctx context.Context, e *Env) error {
	b := &remoteBench{e: e, rdb: e.client()}
	defer b.close()
	if err := b.open(ctx); err != nil {
		return err
	}
	for _, g := range remoteGoroutines {
		var cs []measure.Contender
		for _, r := range b.all {
			cs = append(cs, measure.Contender{Name: r.name, Measure: func(ctx context.Context) error { return b.sample(ctx, g, r) }})
		}
		if err := measure.Rounds(ctx, e.Rounds, cs); err != nil {
			return err
		}
	}
	return nil
}

func (b *remoteBench) close() {
	for _, f := range slices.Backward(b.closed) {
		f()
	}
	_ = b.rdb.Close()
}

func (b *remoteBench) add(name string, read func(context.Context, int) error) {
	b.all = append(b.all, reading{name, read})
}

func (b *remoteBench) open(ctx context.Context) error {
	b.add(barePing, func(ctx context.Context, _ int) error { return b.rdb.Ping(ctx).Err() })
	for _, c := range append(slices.Clone(remoteCodecs), codec.Raw) {
		if err := b.bare(ctx, c); err != nil {
			return err
		}
	}
	if err := b.clients(); err != nil {
		return err
	}
	for _, c := range remoteCodecs {
		if err := ours(ctx, b, c, peers.Large); err != nil {
			return err
		}
	}
	return ours(ctx, b, codec.Raw, rawOf)
}

// rawOf returns the value for the raw codec: as many bytes as a large value.
func rawOf(id int64) []byte { return []byte(peers.Large(id).Name) }

// bare stores encoded values and reads them without a cache.
func (b *remoteBench) bare(ctx context.Context, c codec.Codec) error {
	raw := c.ID() == codec.Raw.ID()
	for i := range int64(remoteKeys) {
		var v any = peers.Large(i)
		if raw {
			v = rawOf(i)
		}
		cell, err := c.Marshal(v)
		if err == nil {
			err = b.rdb.Set(ctx, bareKey(c, int(i)), cell, 0).Err()
		}
		if err != nil {
			return err
		}
	}
	if raw {
		b.add(bareGet, func(ctx context.Context, i int) error { return b.rdb.Get(ctx, bareKey(c, i)).Err() })
		return nil
	}
	b.add(bareName(c), func(ctx context.Context, i int) error {
		cell, err := b.rdb.Get(ctx, bareKey(c, i)).Bytes()
		var v peers.Value
		if err == nil {
			err = c.Unmarshal(cell, &v)
		}
		return err
	})
	return nil
}

func bareKey(c codec.Codec, i int) string { return fmt.Sprintf("bare:%s:%d", c.ID(), i%remoteKeys) }

// clients adds two clients that combine concurrent reads into one message.
func (b *remoteBench) clients() error {
	ap, err := b.rdb.AutoPipeline()
	if err != nil {
		return err
	}
	b.add(autoPipeline, func(ctx context.Context, i int) error { return ap.Get(ctx, bareKey(codec.Raw, i)).Err() })
	ru, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{b.e.server(0)}, DisableCache: true})
	if err != nil {
		return err
	}
	b.closed = append(b.closed, ru.Close)
	b.add(rueidisGet, func(ctx context.Context, i int) error {
		return ru.Do(ctx, ru.B().Get().Key(bareKey(codec.Raw, i)).Build()).Error()
	})
	return nil
}

// sample takes one sample, with its costs on both sides. A warm-up opens the connections that many
// goroutines need.
func (b *remoteBench) sample(ctx context.Context, goroutines int, r reading) error {
	if _, err := b.run(ctx, goroutines, r, b.e.ms(50, 30, 5)); err != nil {
		return err
	}
	before, err := measure.LookAt(ctx, b.rdb)
	if err != nil {
		return err
	}
	got, err := b.run(ctx, goroutines, r, b.e.ms(250, 60, 10))
	if err != nil {
		return err
	}
	after, err := measure.LookAt(ctx, b.rdb)
	if err != nil {
		return err
	}
	l, d := remoteLine(goroutines, r.name), after.Since(before)
	b.e.add(l, got)
	b.e.addQuantiles(l, got.Times)
	ops, commands := float64(got.Ops), 0.0
	for name, n := range d.Calls {
		if name != "hello" && !strings.HasPrefix(name, "client") { // commands of a new connection
			commands += float64(n)
		}
	}
	b.e.Book.Add(l, perSecond, got.PerSecond())
	b.e.Book.Add(l, clientCPU, got.CPUPerOp())
	b.e.Book.Add(l, serverCPU, float64(d.CPU)/ops)
	b.e.Book.Add(l, commandsOp, commands/ops)
	b.e.Book.Add(l, scriptsOp, float64(d.Calls["evalsha"]+d.Calls["eval"]+d.Calls["fcall"])/ops)
	return nil
}

func (*remoteBench) run(ctx context.Context, goroutines int, r reading, d time.Duration) (measure.Result, error) {
	failed := make([]error, goroutines)
	got := measure.Run(ctx, measure.Config{Goroutines: goroutines, For: d, Latencies: true}, func(g int) func(int) {
		return func(i int) {
			if err := r.read(ctx, i); err != nil {
				failed[g] = err
			}
		}
	})
	return got, errors.Join(failed...)
}

func remoteHitTables(e *Env) []report.Table {
	names := []string{barePing, bareGet, autoPipeline, rueidisGet, oursName(codec.Raw)}
	for _, c := range remoteCodecs {
		names = append(names, bareName(c), oursName(c))
	}
	var all []string
	for _, g := range remoteGoroutines {
		all = append(all, remoteSetting(g))
	}
	var out []report.Table
	for _, t := range []report.Comparison{
		{Title: "B: remote hit, 1 KiB, p50", Unit: p50, More: []string{p95, p99, allocsOp}, Note: "p95, p99 and allocations at 1 goroutine."},
		{Title: "B: remote hit, p99", Unit: p99},
		{Title: "B: remote hit, throughput", Unit: perSecond, More: []string{commandsOp, scriptsOp}},
		{Title: "B: remote hit, processor time of this process", Unit: clientCPU},
		{Title: "B: remote hit, processor time of the server", Unit: serverCPU},
	} {
		t.Workload, t.Settings, t.Contenders, t.Reference = "B", all, names, bareGet
		out = append(out, t.Table(&e.Book))
	}
	return out
}
