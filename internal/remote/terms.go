package remote

import (
	"time"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// Terms holds what a loader said about its value's life after its freshness. The terms travel
// with the value and bind every process that reads it.
type Terms struct {
	Stale, IfError time.Duration // negative means the policy's; once fixed, both or neither
	Keep           time.Duration // after all other use, only for Previous
}

// Unsaid holds the terms of a loader that set none.
var Unsaid = Terms{Stale: -1, IfError: -1}

// NeverStale holds the terms of an empty value.
var NeverStale = Terms{}

// binds reports whether the value has its own Stale and StaleIfError.
func (m *Terms) binds() bool { return m.Stale >= 0 }

// Lasting reports whether the loader wants the value stored although it is never fresh.
func (m *Terms) Lasting() bool { return max(m.Stale, m.IfError, m.Keep) > 0 }

// Fixed returns the terms for every reader. If the loader set only one of Stale and
// StaleIfError, the other comes from the writer's policy.
func (m Terms) Fixed(p *policy.Policy) Terms {
	if m.Stale < 0 && m.IfError < 0 {
		return m
	}
	if m.Stale < 0 {
		m.Stale = p.Stale
	}
	if m.IfError < 0 {
		m.IfError = p.StaleIfError
	}
	return m
}

// Grace returns how long a value is served while a refresh runs, and how long it is served in
// all. Both count from the end of its freshness.
func (m *Terms) Grace(p *policy.Policy) (stale, hard time.Duration) {
	stale, ifError := p.Stale, p.StaleIfError
	if m.binds() {
		stale, ifError = m.Stale, m.IfError
	}
	return stale, lifetimes.Add(stale, ifError)
}

// TermsOf returns the terms of a cell, and Into writes them into one.
func TermsOf(c *tier.Cell) Terms {
	m := Unsaid
	if c.Flags&tier.FlagOwnStale != 0 {
		m.Stale, m.IfError = c.Stale, c.StaleIfError
	}
	m.Keep = c.Keep
	return m
}

// Into writes the terms into a cell.
func (m *Terms) Into(c *tier.Cell) {
	if m.binds() {
		c.Flags |= tier.FlagOwnStale
		c.Stale, c.StaleIfError = m.Stale, m.IfError
	}
	c.Keep = m.Keep
}
