// Package redistest runs real Redis servers for tests and benchmarks: one
// server ([Start]), a Sentinel group ([StartSentinel]), a Cluster
// ([StartCluster]), and a TCP proxy that breaks connections ([NewProxy]).
//
// Servers listen only on loopback, persist nothing, live in the test's temporary directory and end
// with the test, even if the test is killed (Linux). redistest signals only processes that it has
// started.
//
// The program redis-server is looked up in the PATH; without it the test fails. If the variable
// REDIS_URL is set, Start uses that server instead. Others may use it as well. Therefore tests take
// their keys from [Prefix] and never flush, and a test that must stop the server is skipped.
//
// Starting a server switches off the log of go-redis for the whole process.
package redistest
