// Package deptest holds the tests that keep dependencies pointing one way: what
// each package of the library may pull in, and what the library's go.mod may
// require. It has only tests.
package deptest
