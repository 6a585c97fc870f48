package main

import (
	"github.com/twofold-go/twofold/examples/digest/bench"
	"github.com/twofold-go/twofold/examples/digest/demo"
)

type benchCmd struct {
	Users []int  `help:"Sizes of the population (default: 100,1000,10000)." placeholder:"N"`
	Seed  uint64 `help:"Of the population."`
}

// Run measures.
func (c *benchCmd) Run(p *program) error {
	return bench.Run(p, bench.Config{Sizes: c.Users, Seed: c.Seed, Out: p.out, Log: p.log})
}

type demoCmd struct {
	Users int    `default:"1000" help:"How many users (${default})."`
	Seed  uint64 `default:"1" help:"Of users and news."`
	Even  bool   `help:"Let users choose sources as if none were popular: misses what is promised."`
	DB    string `name:"db" help:"The database's file, which must not be there yet (default: a temporary one)." placeholder:"FILE"`
}

// Run demonstrates.
func (c *demoCmd) Run(p *program) error {
	return demo.Run(p, demo.Config{Users: c.Users, Seed: c.Seed, Uniform: c.Even, DB: c.DB, Out: p.out, Progress: p.err})
}
