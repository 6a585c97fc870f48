package workload

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/report"
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

// Worker runs a process of the fleet: it carries out orders from in until the input ends.
func Worker(in io.Reader, out io.Writer) error {
	var p post
	if err := proc.Task(WorkerEnv, &p); err != nil {
		return err
	}
	s, err := specOf(p.Peer)
	if err != nil {
		return err
	}
	var source slow
	peer, err := s.Open(peers.Options{Entries: 10_000, Redis: p.Redis, Prefix: p.Prefix, Load: source.load})
	if err != nil {
		return err
	}
	defer peer.Close()
	return proc.Obey(in, out, func(o order) (deed, error) {
		k := peers.KeyOf(o.ID)
		before := source.loads.Load()
		time.Sleep(time.Duration(o.At - proc.Now()))
		waits, err := source.rush(context.Background(), peer, s.Loads, fleetEach, &k)
		return deed{source.loads.Load() - before, waits}, err
	})
}

// crew is the processes of one peer. The next trial reads the key after id.
type crew struct {
	hands []*proc.Child
	id    *int64
}

func (c *crew) dismiss() { proc.Dismiss(c.hands) }

// crew starts the processes of a peer. Their first trial opens connections and loads scripts, and
// is not counted.
func (e *Env) crew(peer string, id *int64) (c *crew, err error) {
	c = &crew{id: id}
	p := post{peer, e.serverOf(peer), redistest.Prefix()}
	for range fleetSize {
		one, err := proc.Again(WorkerEnv, p, os.Stderr)
		if err != nil {
			return c, err
		}
		c.hands = append(c.hands, one)
	}
	if _, err = c.trials(1); err != nil {
		err = fmt.Errorf("%s: %w", peer, err)
	}
	return c, err
}

// trials gives n orders, each for another key, and adds up the results.
func (c *crew) trials(n int) (all deed, err error) {
	for range n {
		*c.id++
		deeds, err := proc.Command[deed](c.hands, order{*c.id, proc.Now() + int64(5*time.Millisecond)})
		if err != nil {
			return all, err
		}
		for _, d := range deeds {
			all.Loads += d.Loads
			all.Waits = append(all.Waits, d.Waits...)
		}
	}
	return all, nil
}

// fleet measures several processes of each of the peers. Their keys begin after id.
func (e *Env) fleet(ctx context.Context, s *scenario, id int64, names []string) error {
	if !proc.Supported {
		e.logf("no stampede of processes: %v", proc.ErrSystem)
		return nil
	}
	trials := by(e, 10, 3, 1)
	var own owned
	defer own.close()
	var cs []contender
	for _, name := range names {
		c, err := e.crew(name, &id)
		own.add(c.dismiss)
		if err != nil {
			return err
		}
		cs = append(cs, contender{name: name, sample: func(_ context.Context, l report.Line) error {
			all, err := c.trials(trials)
			if err == nil {
				e.addRush(l, all.Waits, float64(all.Loads)/float64(trials))
			}
			return err
		}})
	}
	return e.compare(ctx, s, cs)
}
