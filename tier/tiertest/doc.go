// Package tiertest has test suites for tiers, and test doubles.
//
// [TestRemote] and [TestLocal] are conformance suites: call them from a test of your own tier.
// They test every rule of the interfaces in package tier. [Memory] is a remote tier in this
// process, for tests, examples and demonstrations. It has no goroutine and runs inside a
// testing/synctest bubble. [Faulty] wraps any remote tier. It fails, hangs or corrupts on
// command, and counts calls.
package tiertest
