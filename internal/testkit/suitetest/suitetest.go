// Package suitetest runs the cases of a conformance suite, with or without a bubble.
package suitetest

import (
	"testing"
	"testing/synctest"
)

// Case is one rule, and its test.
type Case[T any] = struct {
	Name string
	Test func(t T)
}

// Run runs each case as a subtest, with what open makes for it.
func Run[T any](t *testing.T, cases []Case[T], open func(t *testing.T) T) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { c.Test(open(t)) })
	}
}

// InBubble is [Run] with each subtest in a testing/synctest bubble.
func InBubble[T any](t *testing.T, cases []Case[T], open func(t *testing.T) T) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Test(open(t)) })
		})
	}
}
