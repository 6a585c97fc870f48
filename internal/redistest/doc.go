// Package redistest runs real Redis servers for tests and benchmarks: one
// server ([Start]), a Sentinel group ([StartSentinel]), a Cluster
// ([StartCluster]), and a TCP proxy that breaks connections ([NewProxy]).
//
// Servers listen on loopback only, persist nothing, live in the test's
// temporary directory and end with the test, also when the test is killed
// (Linux). Only processes started here are ever signalled.
//
// The program redis-server is looked up in the PATH; without it the test fails.
// When the variable REDIS_URL is set, Start uses that server instead. It may be
// shared with others, so tests take their keys from [Prefix], never flush, and
// a test that wants to stop the server is skipped.
//
// Whoever starts a server here switches go-redis' log off, for the whole process.
package redistest
