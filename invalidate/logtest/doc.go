// Package logtest checks logs of invalidations against the contract of
// [invalidate.Log], and stands in for them.
//
// [TestLog] is a conformance suite: call it from a test of your own log and it
// tries every rule the interface states. [TestTransactional] is another, for logs that
// take invalidations in an application's own transactions. [Memory] is a log in this process, for
// tests, examples and demonstrations; share one between several sets of tiers
// to play a fleet, and let it lose what a server may lose. It needs no goroutine
// and runs inside a testing/synctest bubble. [Faulty] wraps the log of one
// process and makes it fail, hang, fall silent or count on command.
package logtest
