package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/proc"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/redistest"
)

// WorkerEnv is set in the environment of a process of the fleet; such a process
// has to call Worker and nothing else.
const WorkerEnv = "TWOFOLD_BENCH_WORKER"

// post is what a process of the fleet is.
type post struct{ Peer, Redis, Prefix string }

// order is one trial: who gets it waits until the moment, which all processes
// see on one clock, and asks.
type order struct{ ID, At int64 }

// deed is what came of it.
type deed struct {
	Loads int64
	Waits []time.Duration
	Error string
}

// Worker is the life of a process of the fleet: it carries out orders from in
// until that ends.
func Worker(in io.Reader, out io.Writer) error {
	var p post
	if err := json.Unmarshal([]byte(os.Getenv(WorkerEnv)), &p); err != nil {
		return fmt.Errorf("workload: %s: %w", WorkerEnv, err)
	}
	s, err := peers.ByName(p.Peer)
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

// sailor is a process of the fleet, seen from outside.
type sailor struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	orders  *json.Encoder
	answers *json.Decoder
}

// enlist starts this program once more. A process whose input ends ends, and so
// none is left behind whatever becomes of this one.
func enlist(ctx context.Context, p post) (*sailor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	s := &sailor{cmd: exec.CommandContext(ctx, self)}
	s.cmd.Env = append(os.Environ(), WorkerEnv+"="+string(env))
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.orders, s.answers = json.NewEncoder(s.stdin), json.NewDecoder(bufio.NewReader(out))
	return s, s.cmd.Start()
}

func (s *sailor) dismiss() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait() // it has nothing to tell any more
}

// fleet measures several processes.
func (e *Env) fleet(ctx context.Context) error {
	if !proc.Supported {
		e.logf("C: no stampede of processes: %v", proc.ErrSystem)
		return nil
	}
	trials, id := by(e, 10, 3, 1), int64(2e9)
	var cs []measure.Contender
	for _, s := range stampeders(true) {
		p := post{s.Name, e.serverOf(s.Name), redistest.Prefix()}
		var crew []*sailor
		for range fleetSize {
			one, err := enlist(ctx, p)
			if err != nil {
				return err
			}
			defer one.dismiss()
			crew = append(crew, one)
		}
		// The first trials open connections and load scripts; nobody counts them.
		if err := new(deed).trials(crew, &id, 1); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		cs = append(cs, measure.Contender{Name: s.Name, Measure: func(context.Context) error {
			var all deed
			if err := all.trials(crew, &id, trials); err != nil {
				return err
			}
			e.addRush(crowdLine(fleetSetting, s.Name), all.Waits, float64(all.Loads)/float64(trials))
			return nil
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

// trials gives orders, each for another key.
func (d *deed) trials(crew []*sailor, id *int64, n int) error {
	for range n {
		*id++
		if err := d.command(crew, *id); err != nil {
			return err
		}
	}
	return nil
}

// command gives one order to all and adds up what came of it.
func (d *deed) command(crew []*sailor, id int64) error {
	at := proc.Now() + int64(5*time.Millisecond)
	for _, s := range crew {
		if err := s.orders.Encode(order{id, at}); err != nil {
			return err
		}
	}
	for _, s := range crew {
		var one deed
		if err := s.answers.Decode(&one); err != nil {
			return fmt.Errorf("workload: a process of the fleet: %w", err)
		}
		if one.Error != "" {
			return errors.New(one.Error)
		}
		d.Loads += one.Loads
		d.Waits = append(d.Waits, one.Waits...)
	}
	return nil
}
