// Package logtest has test suites for logs of invalidations, and test doubles.
//
// [TestLog] is a conformance suite: call it from a test of your own log. It tests every rule of
// [invalidate.Log]. [TestTransactional] is a suite for logs that take invalidations in an
// application's own transactions.
//
// [Memory] is a log in this process, for tests, examples and demonstrations. Share one Memory
// between several sets of tiers to simulate a fleet. It has no goroutine and runs inside a
// testing/synctest bubble. [Faulty] wraps the log of one
// process. It fails, hangs or goes silent on command, and counts calls.
package logtest
