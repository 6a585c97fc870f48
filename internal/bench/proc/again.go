package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Again runs this program once more, as a child with cfg as JSON in the environment variable env.
// More are further variables.
func Again(env string, cfg any, stderr io.Writer, more ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(append(os.Environ(), env+"="+string(text)), more...), stderr
	return Start(cmd)
}

// Task reads the cfg of [Again] in the child.
func Task(env string, cfg any) error {
	if err := json.Unmarshal([]byte(os.Getenv(env)), cfg); err != nil {
		return fmt.Errorf("proc: %s: %w", env, err)
	}
	return nil
}

// answer is what a child returns for an order.
type answer[D any] struct {
	Deed  D
	Error string
}

// Obey carries out orders from in until the input ends. A failed order does not end it.
func Obey[O, D any](in io.Reader, out io.Writer, do func(O) (D, error)) error {
	answers, orders := json.NewEncoder(out), json.NewDecoder(in)
	for {
		var o O
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("proc: order: %w", err)
		}
		var a answer[D]
		var err error
		if a.Deed, err = do(o); err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("proc: answer: %w", err)
		}
	}
}

// Command gives one order to all children, and returns their answers in the same order.
func Command[D any](crew []*Child, order any) ([]D, error) {
	for _, c := range crew {
		if err := c.Tell(order); err != nil {
			return nil, err
		}
	}
	return Answers[D](crew)
}

// Answers waits for the next answer of each child.
func Answers[D any](crew []*Child) ([]D, error) {
	all := make([]D, len(crew))
	for i, c := range crew {
		var a answer[D]
		if err := c.Hear(&a); err != nil {
			return nil, err
		}
		if a.Error != "" {
			return nil, errors.New(a.Error)
		}
		all[i] = a.Deed
	}
	return all, nil
}

// Dismiss ends the input of all children, and waits until they have ended.
func Dismiss(crew []*Child) {
	for _, c := range crew {
		c.Finish()
	}
	for _, c := range crew {
		<-c.Done()
	}
}
