// Package pgxlisten lets a log of package sqllog learn of new records immediately, by LISTEN on its
// own PostgreSQL connection. A process also looks every Config.Poll. Only that finds rows of
// triggers, and of Append without Committed.
//
// No guarantee depends on it. While its connection is lost, the log polls, and this package
// reconnects.
//
// The connection must be direct. Through PgBouncer in transaction mode LISTEN seems to work, but no
// notification arrives. Pass the address of the server, or of a PgBouncer in session mode. Each
// process needs one connection in addition to those of its pools.
//
// A [Listener] serves one log. The package is a separate module because it needs the driver pgx.
// The log works with any driver.
package pgxlisten
