package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier/redistier"
)

// worker is the state of the process.
type worker struct {
	cfg     Config
	keys    layout
	rdb     redis.UniversalClient
	source  *redis.Client
	db      *database   // nil: the source and the log are in Redis
	log     *steppedLog // of db
	steps   steps
	tiers   *cache.Tiers
	outside bool                         // a control: invalidations follow COMMIT
	levels  []cache.Cache[string, Value] // level 0 has what the source has; others are built from the one below
	events  *history.Recorder

	ops, loads, slow, foreign, hasty atomic.Int64

	publishing sync.Mutex

	mu     sync.Mutex // protects all below
	errs   map[string]int
	broken error // why the run cannot continue
}

// Main runs the worker that the environment describes, until its input ends. It prints one string
// when it has begun, and a [Report] in the end.
func Main() error {
	var cfg Config
	if err := setup.Try(func() { cfg = proc.Task[Config](Env) }); err != nil {
		return err
	}
	w := &worker{cfg: cfg, keys: layout(cfg.Keys), outside: cfg.Lacks(NoOutbox), errs: make(map[string]int)}
	if err := setup.Try(w.open); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		w.steps.listen(os.Stdin)
		stop()
	}()
	fmt.Println(`"ready"`)
	w.run(ctx)
	return errors.Join(w.broken, w.close(), w.report())
}

func (w *worker) open() {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	w.events = setup.Must(history.Create(w.cfg.Events))
	w.rdb = w.cfg.Server.client(w.cfg.Proc)
	if w.cfg.DB == "" {
		w.source = redis.NewClient(&redis.Options{Addr: w.cfg.Source, ContextTimeoutEnabled: true, DisableIdentity: true})
	} else {
		w.db = open(w.cfg.DB, w.cfg.At)
		w.steps.cut = func() { w.db.cut.Store(true) }
	}
	w.tiers = setup.Must(cache.Open(w.tiersConfig()))
	if w.cfg.Plain && w.db == nil {
		setup.Check(w.loadFunction(context.Background()))
	}
	names := []string{namespace}
	if w.cfg.Composed {
		names = append(names, "outer", "outer2")
	}
	for level, name := range names {
		w.levels = append(w.levels, setup.Must(cache.New(w.tiers, w.cacheConfig(level, name))))
	}
}

// maxAudits is the number of audits that a worker begins in a second. With more, their loads would
// be a burden to the machine.
const maxAudits = 100

func (w *worker) tiersConfig() cache.TiersConfig {
	cfg := cache.TiersConfig{Remote: redistier.New(w.rdb, redistier.Config{Prefix: w.cfg.Prefix}), MaxAudits: maxAudits}
	if w.cfg.DBCells {
		cfg.Remote = w.db.cells()
	}
	switch {
	case w.cfg.Lacks(NoLog):
	case w.db != nil:
		w.log = &steppedLog{Log: w.db.log(w.cfg.Bound), steps: &w.steps, late: w.cfg.Lacks(CellsFirst)}
		cfg.Log = w.log
	default:
		cfg.Log = redislog.New(w.rdb, redislog.Config{Prefix: w.cfg.Prefix, Bound: w.cfg.Bound})
	}
	return cfg
}

// The readers of a worker, and the mean between two calls of one of them.
const (
	readers   = 6
	readPause = 3 * time.Millisecond
)

// run reads and writes until ctx ends. It waits for calls under way and does not cancel
// them, because their results are part of the history.
func (w *worker) run(ctx context.Context) {
	var wg sync.WaitGroup
	loop := func(id uint64, pause time.Duration, step func(*rand.Rand)) {
		rng := rand.New(rand.NewPCG(w.cfg.Seed, uint64(w.cfg.Proc)<<32|id))
		wg.Go(func() {
			for proc.Sleep(ctx, time.Duration(rng.Int64N(int64(2*pause)+1))) {
				step(rng)
			}
		})
	}
	for i := range readers {
		loop(uint64(i), readPause, w.read)
	}
	for i := range w.cfg.Writers {
		loop(uint64(1<<16+i), w.cfg.WritePause, w.write)
	}
	wg.Wait()
}

// failed counts an error by its text. It replaces digits, so texts with different keys and
// ports are equal.
func (w *worker) failed(op string, err error) {
	text := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, err.Error())
	text = op + ": " + text[:min(len(text), 160)]
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.errs[text] == 0 && len(w.errs) >= 40 {
		text = op + ": others"
	}
	w.errs[text]++
}

// giveUp fails the run: the source, which no fault touches, does not answer.
func (w *worker) giveUp(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = errors.Join(w.broken, err)
}

func (w *worker) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := w.tiers.Close(ctx); err != nil {
		w.failed("close", err) // Redis may be unreachable at this moment
	}
	if w.db != nil {
		_ = w.db.close() // its server may be unreachable, too
	}
	return w.events.Close()
}

// report prints the report.
func (w *worker) report() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return json.NewEncoder(os.Stdout).Encode(Report{
		Loads: w.loads.Load(), SlowLoads: w.slow.Load(), Foreign: w.foreign.Load(), Hasty: w.hasty.Load(),
		Errors: w.errs, Stats: w.tiers.Stats(),
	})
}
