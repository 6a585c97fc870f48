// Package sqlpgx connects a log of package sqllog with native pgx. [Tx] makes a transaction of pgx fit
// the log's Append. A [Listener] lets the log learn of new records immediately, by LISTEN on its own
// PostgreSQL connection. The package is a separate module because it needs the driver pgx. The log works
// with any driver.
//
// A process also looks every Config.Poll. Only that finds rows of triggers, and of Append without
// Committed. No guarantee depends on the listener. While its connection is lost, the log polls, and the
// listener reconnects.
//
// The listener's connection must be direct. Through PgBouncer in transaction mode LISTEN seems to work,
// but no notification arrives. Pass the address of the server, or of a PgBouncer in session mode. Each
// process needs one connection in addition to those of its pools. A Listener serves one log.
package sqlpgx
