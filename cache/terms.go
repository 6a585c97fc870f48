package cache

import (
	"time"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// terms holds what a loader said about its value's life after its freshness. The terms travel
// with the value and bind every process that reads it.
type terms struct {
	stale, ifError time.Duration // negative: the policy's; once fixed, both or neither
	keep           time.Duration // after all other use, for Previous alone
}

// unsaid holds the terms of a loader that said nothing.
var unsaid = terms{stale: -1, ifError: -1}

// neverStale holds the terms of an empty value.
var neverStale = terms{}

// binds reports whether the value has its own Stale and StaleIfError.
func (m *terms) binds() bool { return m.stale >= 0 }

// lasting reports whether the loader wants the value stored although it is never fresh.
func (m *terms) lasting() bool { return max(m.stale, m.ifError, m.keep) > 0 }

// fixed returns the terms for every reader. If the loader set only one of Stale and
// StaleIfError, the other comes from the writer's policy.
func (m terms) fixed(p *policy.Policy) terms {
	if m.stale < 0 && m.ifError < 0 {
		return m
	}
	if m.stale < 0 {
		m.stale = p.Stale
	}
	if m.ifError < 0 {
		m.ifError = p.StaleIfError
	}
	return m
}

// grace returns how long a value is served while a refresh runs, and how long it is served in
// all. Both count from the end of its freshness.
func (m *terms) grace(p *policy.Policy) (stale, hard time.Duration) {
	stale, ifError := p.Stale, p.StaleIfError
	if m.binds() {
		stale, ifError = m.stale, m.ifError
	}
	return stale, lifetimes.Add(stale, ifError)
}

func termsOf(c *tier.Cell) terms {
	m := unsaid
	if c.Flags&tier.OwnStale != 0 {
		m.stale, m.ifError = c.Stale, c.StaleIfError
	}
	m.keep = c.Keep
	return m
}

func (m *terms) into(c *tier.Cell) {
	if m.binds() {
		c.Flags |= tier.OwnStale
		c.Stale, c.StaleIfError = m.stale, m.ifError
	}
	c.Keep = m.keep
}
