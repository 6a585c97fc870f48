package workload

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// Workload C reads one cold key from many goroutines at once, and from the goroutines of several
// processes. The loader takes ten milliseconds. Any longer wait of a caller, and every load except
// the first, is the cache's cost.

const (
	loaderTime = 10 * time.Millisecond
	loadsPer   = "loads"
	fleetSize  = 4  // processes
	fleetEach  = 32 // goroutines of each
)

func crowdSetting(n int) string { return fmt.Sprintf("%d goroutines", n) }

var fleetSetting = fmt.Sprintf("%d processes × %d", fleetSize, fleetEach)

// stampeders returns the peers of workload C: all that load, and the two whose caller loads and
// sets.
func stampeders(inFleet bool) []peers.Spec {
	return slices.DeleteFunc(peers.All(), func(s peers.Spec) bool {
		switch s.Name {
		case "twofold, closure", "twofold, metrics", overRistretto:
			return true
		case "twofold":
			return inFleet // without a second tier the processes share nothing
		case "sturdyc":
			return false
		}
		return s.Kind != peers.TwoTier && (inFleet || !s.Loads)
	})
}

// stampedes measures the goroutines of several processes.
func (e *Env) stampedes() {
	var names []string
	for _, s := range stampeders(true) {
		names = append(names, s.Name)
	}
	e.fleet(&scenario{id: "C", setting: fleetSetting, tables: stampedeTables}, 2e9, names)
}

// slow is a slow loader that counts its calls.
type slow struct{ loads atomic.Int64 }

func (s *slow) load(_ context.Context, id int64) (peers.Value, error) {
	s.loads.Add(1)
	time.Sleep(loaderTime)
	return peers.Small(id), nil
}

// read reads through p. If p does not load, read loads and sets.
func (s *slow) read(ctx context.Context, p peers.Peer, loads bool, k *peers.Key) (peers.Value, error) {
	v, ok := p.Get(ctx, k)
	if ok {
		return v, nil
	}
	if loads {
		return v, fmt.Errorf("nothing for key %d", k.ID)
	}
	v, err := s.load(ctx, k.ID)
	if err != nil {
		return v, err
	}
	return v, p.Set(ctx, k, v)
}

// rush reads one key from n goroutines at once and returns the time that each of them waited.
func (s *slow) rush(ctx context.Context, p peers.Peer, loads bool, n int, k *peers.Key) ([]time.Duration, error) {
	waits, gate := make([]time.Duration, n), make(chan struct{})
	var all errgroup.Group
	for g := range n {
		all.Go(func() error {
			<-gate
			start := time.Now()
			v, err := s.read(ctx, p, loads, k)
			waits[g] = time.Since(start)
			if err == nil && v.ID != k.ID {
				err = fmt.Errorf("value of %d under key %d", v.ID, k.ID)
			}
			return err
		})
	}
	close(gate)
	return waits, all.Wait()
}

// crowd measures n goroutines of this process.
func (e *Env) crowd(n int) {
	trials := by(e, 20, 5, 2)
	if n > 100 {
		trials = max(trials/4, 1)
	}
	var cs []contender
	for _, s := range stampeders(false) {
		var source slow
		p := open(e.t, s.Name, e.options(s.Name, 10_000, source.load), 0, nil)
		id := int64(n) * 1e6 // different keys for each crowd
		cs = append(cs, contender{name: s.Name, sample: func(l report.Line) {
			var waits []time.Duration
			before := source.loads.Load()
			for range trials {
				id++
				k := peers.KeyOf(id)
				waits = append(waits, setup.Must(source.rush(e.t.Context(), p, s.Loads, n, &k))...)
			}
			e.addRush(l, waits, float64(source.loads.Load()-before)/float64(trials))
		}})
	}
	e.compare(&scenario{id: "C", setting: crowdSetting(n), tables: stampedeTables}, cs)
}

func (e *Env) addRush(l report.Line, waits []time.Duration, loads float64) {
	slices.Sort(waits)
	e.addQuantiles(l, waits)
	e.Book.Add(l, loadsPer, loads)
}

var stampedeTables = []report.Comparison{
	{
		Title: "C: loads for one cold key", Reference: "twofold, two tiers", Unit: loadsPer,
		Note: "The loader takes 10 ms. DoCache and CSC have no loader: each caller that misses loads and sets.",
	},
	{Title: "C: p99 of the wait, loader included", Reference: "twofold, two tiers", Unit: p99},
}

// WorkerEnv is set in the environment of a process of the fleet. Such a process must call Worker
// and nothing else.
const WorkerEnv = "TWOFOLD_BENCH_WORKER"

// post is the configuration of a process of the fleet.
type post struct{ Peer, Redis, Prefix string }

// order is one trial. The processes wait until the time At, on a clock that all of them share, and
// then read the key.
type order struct{ ID, At int64 }

// deed is the result of an order.
type deed struct {
	Loads int64
	Waits []time.Duration
}

// Worker runs a process of the fleet: it carries out orders until its input ends.
func Worker() error {
	return setup.Try(func() {
		p := proc.Task[post](WorkerEnv)
		s := setup.Must(specOf(p.Peer))
		var source slow
		peer := s.Open(peers.Options{Entries: 10_000, Redis: p.Redis, Prefix: p.Prefix, Load: source.load})
		defer peer.Close()
		proc.Obey(func(o order) deed {
			k := peers.KeyOf(o.ID)
			before := source.loads.Load()
			proc.SleepUntil(o.At)
			waits := setup.Must(source.rush(context.Background(), peer, s.Loads, fleetEach, &k))
			return deed{source.loads.Load() - before, waits}
		})
	})
}

// trials gives a crew n orders, each for the key after id, and adds up the results.
func trials(crew proc.Crew[deed], id *int64, n int) (all deed) {
	for range n {
		*id++
		crew.Tell(order{*id, proc.Now() + int64(5*time.Millisecond)})
		for _, d := range crew.Answers() {
			all.Loads += d.Loads
			all.Waits = append(all.Waits, d.Waits...)
		}
	}
	return all
}

// fleet measures several processes of each of the peers. Their keys begin after id.
func (e *Env) fleet(s *scenario, id int64, names []string) {
	if !proc.Supported {
		e.logf("no stampede of processes: %v", proc.ErrSystem)
		return
	}
	n := by(e, 10, 3, 1)
	var cs []contender
	for _, name := range names {
		p := post{name, e.serverOf(name), redistest.Prefix()}
		crew := proc.Hire[deed](e.t, WorkerEnv, slices.Repeat([]post{p}, fleetSize))
		trials(crew, &id, 1) // opens connections and loads scripts, and is not counted
		cs = append(cs, contender{name: name, sample: func(l report.Line) {
			all := trials(crew, &id, n)
			e.addRush(l, all.Waits, float64(all.Loads)/float64(n))
		}})
	}
	e.compare(s, cs)
}
