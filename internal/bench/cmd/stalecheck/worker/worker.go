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
)

// worker is the state of the process.
type worker struct {
	cfg    Config
	keys   layout
	rdb    redis.UniversalClient
	source *redis.Client
	db     *database   // nil: the source and the log are in Redis
	log    *steppedLog // of db
	steps  steps
	tiers  *cache.Tiers
	levels []cache.Cache[string, Value] // level 0 has what the source has; others are built from the one below
	events *history.Recorder
	stop   chan struct{} // closed when the parent ends the run

	ops, loads, slow, foreign, hasty atomic.Int64

	mu     sync.Mutex // protects all below
	errs   map[string]int
	broken error // why the run cannot continue
}

// Main runs the worker that the environment describes, until its input ends. It prints one string
// when it has begun.
func Main() error {
	var cfg Config
	if err := proc.Task(Env, &cfg); err != nil {
		return err
	}
	w := &worker{cfg: cfg, keys: layout(cfg.Keys), stop: make(chan struct{}), errs: make(map[string]int)}
	if err := w.open(); err != nil {
		return err
	}
	go func() {
		w.steps.listen(os.Stdin)
		close(w.stop)
	}()
	fmt.Println(`"ready"`)
	w.run()
	return errors.Join(w.broken, w.close(), w.report())
}

func (w *worker) open() (err error) {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	if w.events, err = history.Create(w.cfg.Events); err != nil {
		return err
	}
	w.rdb = w.cfg.Server.client(w.cfg.Proc)
	if w.cfg.DB.Kind == "" {
		w.source = redis.NewClient(&redis.Options{Addr: w.cfg.Source, ContextTimeoutEnabled: true, DisableIdentity: true})
	} else if w.db, err = w.cfg.DB.open(); err != nil {
		return err
	} else {
		w.steps.cut = func() { w.db.cut.Store(true) }
	}
	if w.tiers, err = w.openTiers(w.cfg, w.rdb); err != nil {
		return err
	}
	return w.openLevels()
}

func (w *worker) openLevels() error {
	names := []string{namespace}
	if w.cfg.Composed {
		names = append(names, "outer", "outer2")
	}
	for level, name := range names {
		c, err := cache.New(w.tiers, w.cacheConfig(level, name))
		if err != nil {
			return err
		}
		w.levels = append(w.levels, c)
	}
	return nil
}

// run reads and writes until the parent ends it. It waits for calls under way and does not cancel
// them, because their results are part of the history.
func (w *worker) run() {
	var wg sync.WaitGroup
	loop := func(id uint64, pause time.Duration, step func(*rand.Rand)) {
		rng := rand.New(rand.NewPCG(w.cfg.Seed, uint64(w.cfg.Proc)<<32|id))
		wg.Go(func() {
			for w.wait(time.Duration(rng.Int64N(int64(2*pause) + 1))) {
				step(rng)
			}
		})
	}
	for i := range w.cfg.Readers {
		loop(uint64(i), w.cfg.ReadPause, w.read)
	}
	for i := range w.cfg.Writers {
		loop(uint64(1<<16+i), w.cfg.WritePause, w.write)
	}
	wg.Wait()
}

// wait returns false when the worker must stop.
func (w *worker) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.stop:
	}
	select {
	case <-w.stop:
		return false
	default:
		return true
	}
}

// failed counts an error by its text. It replaces digits, so that texts with different keys and
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

func (w *worker) report() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := json.Marshal(Report{
		Loads: w.loads.Load(), SlowLoads: w.slow.Load(), Foreign: w.foreign.Load(), Hasty: w.hasty.Load(),
		Errors: w.errs, Stats: w.tiers.Stats(),
	})
	if err == nil {
		err = os.WriteFile(w.cfg.Report, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("worker: report: %w", err)
	}
	return nil
}
