// Package wire turns values into the cells of the remote tier and back: payloads, terms, times, and
// the marks of ended loads. It knows nothing of entries and of the read path.
package wire
