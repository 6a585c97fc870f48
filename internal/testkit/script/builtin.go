package script

import (
	"context"
	"fmt"
	"time"
)

func (p *player) builtins() map[string]Command {
	sleep := Command{Args: "duration", Run: func(c *Call) error {
		d, err := time.ParseDuration(c.Arg(0))
		if err != nil {
			return err
		}
		time.Sleep(d)
		return nil
	}}
	return map[string]Command{
		"sleep":   sleep,
		"advance": sleep,
		"go":      {Run: p.background},
		"cancel":  {Args: "name", Run: p.cancel},
		"wait":    {Args: "[name...]", Run: p.wait},
	}
}

func isBuiltin(name string) bool { _, ok := (*player)(nil).builtins()[name]; return ok }

// background starts a group. Its goroutines may report errors, but only the player touches the
// groups.
func (p *player) background(c *Call) error {
	name, n, err := splitName(c.line.words[1].value)
	if err != nil {
		return err
	}
	if g, ok := p.groups[name]; ok && !g.joined {
		return fmt.Errorf("%s is still running", name)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	g := &group{cancel: cancel}
	p.groups[name] = g
	inner := &line{where: c.line.where, words: c.line.words[2:]}
	for range n {
		call, err := p.call(inner)
		if err != nil {
			return err
		}
		call.ctx, call.name = ctx, name
		g.wg.Go(func() { p.run(call) })
	}
	return nil
}

func (p *player) cancel(c *Call) error {
	g, ok := p.groups[c.Arg(0)]
	if !ok {
		return fmt.Errorf("nothing named %s was started", c.Arg(0))
	}
	g.cancel()
	return nil
}

func (p *player) wait(c *Call) error {
	for _, name := range c.Args() {
		g, ok := p.groups[name]
		if !ok {
			return fmt.Errorf("nothing named %s was started", name)
		}
		g.join()
	}
	if len(c.Args()) == 0 {
		for _, g := range p.groups {
			g.join()
		}
	}
	return nil
}
