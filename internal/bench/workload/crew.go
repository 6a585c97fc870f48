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
	"github.com/twofold-go/twofold/internal/redistest"
)

// sailor is the parent's view of a process of the fleet.
type sailor struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	orders  *json.Encoder
	answers *json.Decoder
}

// enlist starts this program once more. The process ends when its input ends, so none is left
// behind if this process dies.
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
	_ = s.cmd.Wait() // it has nothing more to report
}

// crew is the processes of one peer.
type crew []*sailor

func (c crew) dismiss() {
	for _, s := range c {
		s.dismiss()
	}
}

// crew starts the processes of a peer. Their first trials open connections and load scripts, and
// are not counted.
func (e *Env) crew(ctx context.Context, peer string, id *int64) (c crew, err error) {
	defer func() {
		if err != nil {
			c.dismiss()
			err = fmt.Errorf("%s: %w", peer, err)
		}
	}()
	p := post{peer, e.serverOf(peer), redistest.Prefix()}
	for range fleetSize {
		one, err := enlist(ctx, p)
		if err != nil {
			return c, err
		}
		c = append(c, one)
	}
	return c, new(deed).trials(c, id, 1)
}

// trials gives n orders, each for another key.
func (d *deed) trials(c crew, id *int64, n int) error {
	for range n {
		*id++
		if err := d.command(c, *id); err != nil {
			return err
		}
	}
	return nil
}

// command gives one order to all processes and adds up the results.
func (d *deed) command(c crew, id int64) error {
	at := proc.Now() + int64(5*time.Millisecond)
	for _, s := range c {
		if err := s.orders.Encode(order{id, at}); err != nil {
			return err
		}
	}
	for _, s := range c {
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
