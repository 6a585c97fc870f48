// Package wire turns values into the cells of the remote tier and back: payloads, terms, times, and
// the marks of ended loads. It does not know entries or the read path.
package wire
