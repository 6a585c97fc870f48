package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/proc"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
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
	Error string
}

// Worker runs a process of the fleet: it carries out orders from in until the input ends.
func Worker(in io.Reader, out io.Writer) error {
	var p post
	if err := json.Unmarshal([]byte(os.Getenv(WorkerEnv)), &p); err != nil {
		return fmt.Errorf("workload: %s: %w", WorkerEnv, err)
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
	answers, orders := json.NewEncoder(out), json.NewDecoder(in)
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("workload: order: %w", err)
		}
		if err := answers.Encode(source.obey(peer, s.Loads, o)); err != nil {
			return fmt.Errorf("workload: answer: %w", err)
		}
	}
}

func (s *slow) obey(p peers.Peer, loads bool, o order) deed {
	k := peers.KeyOf(o.ID)
	before := s.loads.Load()
	time.Sleep(time.Duration(o.At - proc.Now()))
	waits, err := s.rush(context.Background(), p, loads, fleetEach, &k)
	d := deed{Loads: s.loads.Load() - before, Waits: waits}
	if err != nil {
		d.Error = err.Error()
	}
	return d
}

// fleet measures several processes.
func (e *Env) fleet(ctx context.Context) error {
	if !proc.Supported {
		e.logf("C: no stampede of processes: %v", proc.ErrSystem)
		return nil
	}
	id := int64(2e9)
	var cs []measure.Contender
	for _, s := range stampeders(true) {
		c, err := e.crew(ctx, s.Name, &id)
		if err != nil {
			return err
		}
		defer c.dismiss()
		cs = append(cs, e.fleetContender(c, crowdLine(fleetSetting, s.Name), &id))
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

// fleetContender measures a crew by trials, each for another key.
func (e *Env) fleetContender(c crew, l report.Line, id *int64) measure.Contender {
	trials := by(e, 10, 3, 1)
	return measure.Contender{Name: l.Contender, Measure: func(context.Context) error {
		var all deed
		if err := all.trials(c, id, trials); err != nil {
			return err
		}
		e.addRush(l, all.Waits, float64(all.Loads)/float64(trials))
		return nil
	}}
}
