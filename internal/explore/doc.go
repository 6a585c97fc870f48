// Package explore visits every state that the invalidation protocol can reach in a small world, and
// looks for a read that violates the guarantee. Package invalidate explains the protocol itself.
//
// This is explicit-state model checking, as in Holzmann's SPIN and in TLC, the checker of Lamport's
// TLA+. A state is a small comparable value, and a step leads from one state to another. A
// breadth-first search visits all of them. It either ends, which proves that the model has no
// violation, or finds a shortest trace to one. The model is written in Go: it can be read beside
// the code, and it runs as a test.
//
// # The world
//
// There is one key, with one value that carries one tag. The process P makes one invalidation, of the
// key or of the tag, right after the source has changed from version 1 to version 2. One caller makes
// some Gets, one after another, in P or in another process, Q. At the start every tier holds version 1.
//
// Callers of two processes meet only in the cell. What another process can do to it, earlier Gets of
// the caller do as well: their claims stay, and their fills arrive late. Therefore one caller is enough.
//
// The guarantee is that a Get that begins late enough returns version 2. In P that is after
// Invalidate has returned; in Q, once B has passed since then. With Settle, the caller of
// Invalidate waits for B, and in both processes it is after Settle has returned.
//
// # The steps
//
// These are atomic, and other steps may come between any two of them:
//
//   - A Get fetches the entry and reads the lease; checks the lease by the
//     clock; looks at the fences. Without a lease it waits for one or goes
//     straight to the source.
//   - It notes its mark; sends GET; checks the frame; puts it into the local tier
//     and returns it. Or it claims the cell, even over a claim that has not lapsed
//     yet; notes its mark and the time; reads the source; checks whether a fence
//     has overtaken it, and if so begins again, once; fills by compare-and-set;
//     puts the value into the local tier.
//   - GET, a claim's answer and a fill may be lost, a fill may arrive late, and
//     a cell may expire at any time. A claim that is given back looks like an
//     expired cell. An entry may be evicted.
//   - The invalidation writes the source; removes the cell, if it names the key;
//     hands the record to the syncer; and returns when a round that carried it
//     has ended.
//   - The syncer asks; the log appends and answers; the record is applied; the
//     lease is extended. A question or an answer may be lost. The tail may
//     apply the record as soon as it is in the log.
//   - A record is applied in three steps: the fence takes its tick; it goes into the
//     history; the applied position moves. The first two are under one lock. A hit
//     is told before the first step, so it never sees the tick without the fence.
//   - Time is one step: B has passed. All stamps from before the wait for B have
//     then lapsed. Before that step they may or may not have lapsed, and a Get that
//     looks at the clock tries both.
//
// # What is left out
//
// The stories and the matrix of log faults in package cache drive the rest against the real code:
// flights that callers join, values built from values, expiry, a log that loses records or starts
// an epoch, and an outbox. The suites of invalidate/logtest have a mutant for each rule of a log
// and of an outbox.
//
// There is only one key and one invalidation, so the model does not cover nodes that entries
// share, or what falls out of the history: package fence has a world for that. It also has no clock rates, background refreshes, values
// served stale by age, errors, Set, or invalidations that fail and wait. The chaos tests cover
// these.
//
// # How to read a trace
//
// Each line is a step: the actor, the action, and in brackets the change of the shared state. An
// entry's "born" is its tick, and a cell is "as of" a position. A position is 0 before the record
// and 1 after it. A lease is "early" if its question was asked before the wait for B began, and
// "late" if it was asked after. Nonces are renamed in order of appearance, since they are only ever
// compared.
//
// # Mutants
//
// A checker that has never found a violation proves nothing. Therefore each rule can be broken by a
// [Mutant], and the tests expect a counterexample. Some mutants by themselves do no harm, because there are
// two safety nets. The frame check stops what a removed cell and a compare-and-set let through, and
// the other way round. The tests list those as well, with the net that holds. They fail if such a
// mutant does harm, because then the list is wrong.
package explore
