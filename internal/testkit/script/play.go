package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// player runs one story. Only the bubble's first goroutine touches it.
type player struct {
	t        *testing.T
	ctx      context.Context
	env      *Env
	commands map[string]Command
	groups   map[string]*group
	trace    []string
}

// group is the set of background commands that one line started.
type group struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc
	joined bool
}

// play runs s in the bubble of the caller and returns its trace.
func play(t *testing.T, s *story, setup Setup) []string {
	p := &player{t: t, ctx: t.Context(), env: &Env{start: time.Now()}, groups: map[string]*group{}}
	p.commands = p.builtins()
	for name, c := range setup(t, p.env) {
		if _, ok := p.commands[name]; ok {
			t.Fatalf("script: command %q is built in", name)
		}
		p.commands[name] = c
	}
	steps, err := p.resolve(s.lines)
	if err != nil {
		t.Fatal(err)
	}
	p.settle(false) // reports of the set-up belong to no line
	for _, c := range steps {
		p.trace = append(p.trace, "> "+c.line.text)
		p.step(c)
	}
	p.end()
	return p.trace
}

// resolve checks every line before the first one runs.
func (p *player) resolve(lines []*line) ([]*Call, error) {
	var calls []*Call
	var errs []error
	for _, l := range lines {
		c, err := p.call(l)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.where, err))
		}
		calls = append(calls, c)
	}
	return calls, errors.Join(errs...)
}

// call makes a call of a line. It also checks the command that go starts.
func (p *player) call(l *line) (*Call, error) {
	name := l.words[0].value
	cmd, ok := p.commands[name]
	if !ok {
		return nil, fmt.Errorf("unknown command %q", name)
	}
	c := &Call{env: p.env, ctx: p.ctx, line: l, command: name, options: map[string]string{}}
	if name == "go" {
		return c, p.checkGo(l)
	}
	for _, w := range l.words[1:] {
		if w.key == "" {
			c.args = append(c.args, w.value)
			continue
		}
		if c.Has(w.key) {
			return nil, fmt.Errorf("option %q is given twice", w.key)
		}
		c.options[w.key] = w.value
	}
	return c, cmd.check(name, c.args, c.options)
}

func (p *player) checkGo(l *line) error {
	if len(l.words) < 3 || l.words[1].key != "" {
		return errors.New("usage: go NAME COMMAND")
	}
	if _, _, err := splitName(l.words[1].value); err != nil {
		return err
	}
	inner, err := p.call(&line{where: l.where, words: l.words[2:]})
	if err == nil && isBuiltin(inner.command) {
		err = fmt.Errorf("%s cannot run in the background", inner.command)
	}
	return err
}

// splitName reads "name" or "name*8".
func splitName(s string) (name string, n int, err error) {
	name, count, many := strings.Cut(s, "*")
	n = 1
	if many {
		n, err = strconv.Atoi(count)
	}
	if err != nil || n < 1 || name == "" {
		return "", 0, fmt.Errorf("%q is not NAME or NAME*COUNT", s)
	}
	return name, n, nil
}

// step runs one line and records what happens until all goroutines are blocked.
func (p *player) step(c *Call) {
	unordered := p.commands[c.command].Unordered || p.running()
	p.run(c)
	p.settle(unordered || p.running())
	if p.t.Failed() {
		p.t.FailNow() // what follows would only confuse
	}
}

func (p *player) run(c *Call) {
	err := p.commands[c.command].Run(c)
	if err = errors.Join(err, c.err); err != nil {
		p.t.Errorf("%s: %s: %v", c.line.where, c.command, err)
	}
}

// settle waits until every goroutine is blocked, and collects the reported lines.
func (p *player) settle(unordered bool) {
	synctest.Wait()
	p.trace = append(p.trace, p.env.flush(unordered)...)
}

// running reports whether a background command has not been waited for.
func (p *player) running() bool {
	for _, g := range p.groups {
		if !g.joined {
			return true
		}
	}
	return false
}

// end waits for the background commands that still run.
func (p *player) end() {
	if !p.running() {
		return
	}
	for _, g := range p.groups {
		g.join()
	}
	p.settle(true)
}

func (g *group) join() {
	g.wg.Wait()
	g.cancel()
	g.joined = true
}
