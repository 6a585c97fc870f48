package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

// The functions of this file fail by [setup.Check].

// Again runs this program once more, as a child with cfg as JSON in the environment variable env.
// More are further variables.
func Again(env string, cfg any, stderr io.Writer, more ...string) *Child {
	cmd := exec.Command(setup.Must(os.Executable()))
	cmd.Env = append(append(os.Environ(), env+"="+string(setup.Must(json.Marshal(cfg)))), more...)
	cmd.Stderr = stderr
	return setup.Must(Start(cmd))
}

// Task reads the cfg of [Again] in the child.
func Task[C any](env string) (cfg C) {
	if err := json.Unmarshal([]byte(os.Getenv(env)), &cfg); err != nil {
		setup.Check(fmt.Errorf("proc: %s: %w", env, err))
	}
	return cfg
}

// answer is what a child returns for an order.
type answer[D any] struct {
	Deed  D
	Error string
}

// Obey carries out orders from the parent until they end. A failed order does not end it.
func Obey[O, D any](do func(O) D) {
	answers, orders := json.NewEncoder(os.Stdout), json.NewDecoder(os.Stdin)
	for {
		var o O
		err := orders.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		setup.Check(err)
		var a answer[D]
		if err := setup.Try(func() { a.Deed = do(o) }); err != nil {
			a.Error = err.Error()
		}
		setup.Check(answers.Encode(a))
	}
}

// Command gives one order to all children, and returns their answers in the same order.
func Command[D any](crew []*Child, order any) []D {
	for _, c := range crew {
		setup.Check(c.Tell(order))
	}
	return Answers[D](crew)
}

// Answers waits for the next answer of each child.
func Answers[D any](crew []*Child) []D {
	all := make([]D, len(crew))
	for i, c := range crew {
		var a answer[D]
		setup.Check(c.Hear(&a))
		if a.Error != "" {
			setup.Check(errors.New(a.Error))
		}
		all[i] = a.Deed
	}
	return all
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

// SleepUntil sleeps until a time of [Now].
func SleepUntil(at int64) { time.Sleep(time.Duration(at - Now())) }
