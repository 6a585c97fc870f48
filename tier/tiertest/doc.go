// Package tiertest checks tiers against the contracts of package tier, and
// stands in for them.
//
// [TestRemote] and [TestLocal] are conformance suites: call them from a test of
// your own tier and they try every rule the interfaces state. [Memory] is a
// remote tier in this process, for tests, examples and demonstrations; it needs
// no goroutine and runs inside a testing/synctest bubble. [Faulty] wraps any
// remote tier and makes it fail, hang, lie or count on command.
package tiertest
