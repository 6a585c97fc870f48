package workload

import (
	"context"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/redistest"
)

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

// crew is the processes of one peer. The next trial reads the key after id.
type crew struct {
	hands proc.Crew[deed]
	id    *int64
}

// crew starts the processes of a peer. Their first trial opens connections and loads scripts, and
// is not counted.
func (e *Env) crew(t *setup.T, peer string, id *int64) *crew {
	p := post{peer, e.serverOf(peer), redistest.Prefix()}
	c := &crew{proc.Hire[deed](t, WorkerEnv, slices.Repeat([]post{p}, fleetSize)), id}
	c.trials(1)
	return c
}

// trials gives n orders, each for another key, and adds up the results.
func (c *crew) trials(n int) (all deed) {
	for range n {
		*c.id++
		c.hands.Tell(order{*c.id, proc.Now() + int64(5*time.Millisecond)})
		for _, d := range c.hands.Answers() {
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
	trials := by(e, 10, 3, 1)
	t := e.t.Part()
	defer t.Close()
	var cs []contender
	for _, name := range names {
		c := e.crew(t, name, &id)
		cs = append(cs, contender{name: name, sample: func(l report.Line) {
			all := c.trials(trials)
			e.addRush(l, all.Waits, float64(all.Loads)/float64(trials))
		}})
	}
	e.compare(s, cs)
}
