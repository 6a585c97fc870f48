package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/redistier"
)

// Workload B reads values that only Redis has. The floor of each codec is a GET by the library's
// own client, plus the same codec. The rest of a hit's cost is the library's own.

const (
	remoteKeys   = 1000
	clientCPU    = "client-cpu-ns/op"
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

func remoteSetting(goroutines int) string {
	if goroutines == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}

func bareName(c codec.Codec) string { return "GET + " + c.ID() }
func oursName(c codec.Codec) string { return "twofold, " + c.ID() }

var remoteTables = []report.Comparison{
	{Title: "B: remote hit, 1 KiB, p50", Reference: bareGet, Unit: p50, More: []string{p99, allocsOp}, Note: "p99 and allocations at 1 goroutine."},
	{Title: "B: remote hit, throughput", Reference: bareGet, Unit: perSecond, More: []string{commandsOp, scriptsOp}},
	{Title: "B: remote hit, processor time of this process", Reference: bareGet, Unit: clientCPU},
}

// remoteBench holds the contenders of workload B.
type remoteBench struct {
	e   *Env
	rdb *redis.Client
	all []contender
}

func (e *Env) remoteHits() {
	b := &remoteBench{e: e, rdb: e.client()}
	b.open()
	for _, g := range []int{1, 8, 64} {
		s := scenario{id: "B", setting: remoteSetting(g), goroutines: g, warm: [3]int64{50, 30, 5}, span: [3]int64{250, 60, 10}, latencies: true, tables: remoteTables}
		e.compare(&s, b.counted())
	}
}

func (b *remoteBench) add(name string, read op) {
	b.all = append(b.all, contender{name: name, op: read})
}

func (b *remoteBench) open() {
	b.add(barePing, func(ctx context.Context, _ int) error { return b.rdb.Ping(ctx).Err() })
	b.bare(codec.Raw)
	b.clients()
	ours(b, codec.Raw, rawOf)
	for _, c := range remoteCodecs {
		b.bare(c)
		ours(b, c, peers.Large)
	}
}

// rawOf returns the value for the raw codec: as many bytes as a large value.
func rawOf(id int64) []byte { return []byte(peers.Large(id).Name) }

// bare stores encoded values and reads them without a cache.
func (b *remoteBench) bare(c codec.Codec) {
	raw := c.ID() == codec.Raw.ID()
	for i := range int64(remoteKeys) {
		var v any = peers.Large(i)
		if raw {
			v = rawOf(i)
		}
		setup.Check(b.rdb.Set(b.e.t.Context(), bareKey(c, int(i)), setup.Must(c.Marshal(v)), 0).Err())
	}
	if raw {
		b.add(bareGet, func(ctx context.Context, i int) error { return b.rdb.Get(ctx, bareKey(c, i)).Err() })
		return
	}
	b.add(bareName(c), func(ctx context.Context, i int) error {
		cell, err := b.rdb.Get(ctx, bareKey(c, i)).Bytes()
		var v peers.Value
		if err == nil {
			err = c.Unmarshal(cell, &v)
		}
		return err
	})
}

func bareKey(c codec.Codec, i int) string { return fmt.Sprintf("bare:%s:%d", c.ID(), i%remoteKeys) }

// clients adds two clients that combine concurrent reads into one message.
func (b *remoteBench) clients() {
	ap := setup.Must(b.rdb.AutoPipeline())
	b.add(autoPipeline, func(ctx context.Context, i int) error { return ap.Get(ctx, bareKey(codec.Raw, i)).Err() })
	ru := setup.Must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{b.rdb.Options().Addr}, DisableCache: true}))
	b.e.t.Cleanup(ru.Close)
	b.add(rueidisGet, func(ctx context.Context, i int) error {
		return ru.Do(ctx, ru.B().Get().Key(bareKey(codec.Raw, i)).Build()).Error()
	})
}

// nothing is a local tier that keeps nothing, so every read goes to Redis.
type nothing struct{ *local.Tier }

func (nothing) Get(uint64) (any, bool)      { return nil, false }
func (nothing) Set(uint64, any, int64) bool { return false }

// ours adds a cache of the library without local copies.
func ours[V any](b *remoteBench, c codec.Codec, of func(int64) V) {
	tiers := openTiers(b.e.t, cache.TiersConfig{
		Local:    nothing{local.New(local.Config{})},
		Remote:   redistier.New(b.rdb, redistier.Config{Prefix: redistest.Prefix()}),
		Policies: policy.Table{{Patch: policy.Patch{TTL: new(time.Hour), RemoteTimeout: new(time.Second)}}},
	})
	values := setup.Must(cache.New(tiers, cache.Config[int64, V]{
		Namespace: "remote:v1", Codec: c,
		Load: func(_ context.Context, id int64) (V, error) { return of(id), nil },
	}))
	for id := range int64(remoteKeys) {
		setup.Must(values.Get(b.e.t.Context(), id))
	}
	if r := setup.Must(values.Fetch(b.e.t.Context(), 0, nil)); r.Source != cache.Remote {
		b.e.t.Fatalf("%s: a hit came from %v", c.ID(), r.Source)
	}
	b.add(oursName(c), func(ctx context.Context, i int) error {
		_, err := values.Get(ctx, int64(i%remoteKeys))
		return err
	})
}

// counted returns the contenders with their costs on both sides. A warm-up opens the connections
// that many goroutines need.
func (b *remoteBench) counted() []contender {
	look := func() measure.Server { return measure.LookAt(b.e.t.Context(), b.rdb) }
	all := slices.Clone(b.all)
	for i := range all {
		var before measure.Server
		all[i].start = func() { before = look() }
		all[i].after = func(l report.Line, r measure.Result) { b.count(l, r, look().Since(before)) }
	}
	return all
}

func (b *remoteBench) count(l report.Line, r measure.Result, d measure.Server) {
	ops, commands := float64(r.Ops), 0.0
	for name, n := range d.Calls {
		if name != "hello" && !strings.HasPrefix(name, "client") { // commands of a new connection
			commands += float64(n)
		}
	}
	b.e.Book.Add(l, perSecond, r.PerSecond())
	b.e.Book.Add(l, clientCPU, r.CPUPerOp())
	b.e.Book.Add(l, commandsOp, commands/ops)
	b.e.Book.Add(l, scriptsOp, float64(d.Calls["evalsha"]+d.Calls["eval"]+d.Calls["fcall"])/ops)
}
