package peers

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/ristretto"
)

func ours() []Spec {
	return []Spec{
		{Name: "twofold", Kind: Loading, Loads: true, Open: func(o Options) Peer { return NewTwofold(o, Twofold{}) }},
		{Name: "twofold, closure", Kind: Loading, Loads: true, Open: newClosure},
		{Name: "twofold, metrics", Kind: Loading, Loads: true, Open: newMetrics},
		{Name: "twofold, ristretto", Kind: Loading, Loads: true, Open: newOverRistretto},
		{Name: "twofold, two tiers", Kind: TwoTier, Loads: true, Open: newTwoTiers},
		{Name: "tier/local", Kind: Table, Open: newTierLocal},
		{Name: "tier/local, clock", Kind: Table, Open: newClocked},
	}
}

// Twofold is the configuration that may differ between two Twofold peers.
type Twofold struct {
	Local  tier.Local    // nil: a tier of the options' size
	Log    bool          // two tiers with a log, in Options.Redis
	Bound  time.Duration // of the log; 0: its default
	Meter  metric.MeterProvider
	Policy policy.Patch
	Tags   func(int64, Value) []string
	// Refreshes is cache.TiersConfig.MaxRefreshes. MaxLoads is twice that. 0: the defaults.
	Refreshes int
}

// TwofoldPeer is a Cache of the library.
type TwofoldPeer struct {
	Tiers *cache.Tiers
	Cache cache.Cache[int64, Value]

	rdb *redis.Client
}

// NewTwofold returns a Twofold peer that loads by o.Load. It fails by [setup.Check].
func NewTwofold(o Options, t Twofold) *TwofoldPeer {
	p := &TwofoldPeer{}
	cfg := cache.TiersConfig{
		Local: t.Local, MeterProvider: t.Meter, MaxRefreshes: t.Refreshes, MaxLoads: 2 * t.Refreshes,
		Policies: policy.Table{{Patch: policy.Patch{TTL: cmp.Or(t.Policy.TTL, new(lifetime)), RemoteTimeout: new(time.Second)}}},
	}
	if cfg.Local == nil {
		cfg.Local = local.New(local.Config{MaxBytes: o.roomy()})
	}
	if t.Log {
		p.rdb = Client(o.Redis)
		cfg.Log = redislog.New(p.rdb, redislog.Config{Prefix: o.Prefix, Bound: t.Bound})
		cfg.Remote = redistier.New(p.rdb, redistier.Config{Prefix: o.Prefix})
	}
	p.Tiers = setup.Must(cache.Open(cfg))
	p.Cache = setup.Must(cache.New(p.Tiers, cache.Config[int64, Value]{
		Namespace: "bench:v1", Load: o.load, Codec: codec.CBOR, Policy: t.Policy, Tags: t.Tags,
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	setup.Check(p.Tiers.Ready(ctx))
	return p
}

// Get reads through the cache.
func (p *TwofoldPeer) Get(ctx context.Context, k *Key) (Value, bool) {
	v, err := p.Cache.Get(ctx, k.ID)
	return v, err == nil
}

// Set invalidates and stores.
func (p *TwofoldPeer) Set(ctx context.Context, k *Key, v Value) error {
	return p.Cache.Set(ctx, k.ID, v)
}

// Settle does nothing: a Set stores its value before it returns.
func (*TwofoldPeer) Settle() {}

// Close ends the tiers and the connection.
func (p *TwofoldPeer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = p.Tiers.Close(ctx) // the measurements are done
	if p.rdb != nil {
		_ = p.rdb.Close()
	}
}

// closure reads with a loader that is made for each call and captures a variable of the caller, as
// in many programs.
type closure struct {
	*TwofoldPeer
	o Options
}

func newClosure(o Options) Peer {
	return &closure{NewTwofold(o, Twofold{}), o}
}

func (p *closure) Get(ctx context.Context, k *Key) (Value, bool) {
	v, err := p.Cache.GetOrLoad(ctx, k.ID, func(ctx context.Context, id int64) (Value, error) {
		if id != k.ID {
			return Value{}, errWrongKey
		}
		return p.o.load(ctx, id)
	})
	return v, err == nil
}

var errWrongKey = errors.New("peers: a loader was asked for another key than the call's")

// newMetrics uses an OpenTelemetry SDK.
func newMetrics(o Options) Peer {
	return NewTwofold(o, Twofold{Meter: sdk.NewMeterProvider(sdk.WithReader(sdk.NewManualReader()))})
}

func newTwoTiers(o Options) Peer {
	needRedis(o)
	return NewTwofold(o, Twofold{Log: true})
}

// newOverRistretto uses tier/ristretto as the local tier.
func newOverRistretto(o Options) Peer {
	return NewTwofold(o, Twofold{Local: ristretto.New(ristretto.Config{MaxBytes: o.roomy()})})
}

// The plain local tiers show the tiers' part of a hit. Each adapter calls its tier directly,
// because an interface call would be measured as well.

// entryBytes is the charge of an entry in a plain tier that has room for a number of entries.
const entryBytes = 1 << 10

type tierLocal struct{ t *local.Tier }

func newTierLocal(o Options) Peer {
	t := local.New(local.Config{MaxBytes: o.roomy()})
	setup.Check(t.Validate())
	return tierLocal{t}
}

func (p tierLocal) Get(_ context.Context, k *Key) (Value, bool) {
	e, ok := p.t.Get(hashOf(k.ID))
	if !ok {
		return Value{}, false
	}
	return *e.(*Value), true
}

func (p tierLocal) Set(_ context.Context, k *Key, v Value) error {
	p.t.Set(hashOf(k.ID), &v, entryBytes-local.Overhead)
	return nil
}

// clocked reads the clock after each hit, as a cache with lifetimes must. No cache over tier/local
// can be faster. Reading the clock costs more than its own time, because the processor does not
// fetch the next hit's memory before it.
type clocked struct {
	tierLocal
	opened time.Time
}

func newClocked(o Options) Peer {
	return clocked{newTierLocal(o).(tierLocal), time.Now()}
}

func (p clocked) Get(ctx context.Context, k *Key) (Value, bool) {
	v, ok := p.tierLocal.Get(ctx, k)
	return v, ok && time.Since(p.opened) < lifetime
}

func (tierLocal) Settle()  {}
func (p tierLocal) Close() { _ = p.t.Close() }
