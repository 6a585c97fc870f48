// Package pgxlisten lets a log of package sqllog learn of new records at once, by LISTEN on a
// PostgreSQL connection of its own. A process looks every Config.Poll as well. Rows of triggers,
// and of Append without Committed, are found only so.
//
// No guarantee depends on it. While its connection is lost, the log polls, and this package
// reconnects.
//
// The connection must be direct. Through PgBouncer in transaction mode LISTEN seems to work, but no
// notification arrives. So pass the address of the server, or of a PgBouncer in session mode. Each
// process needs one connection in addition to those of its pools.
//
// A [Listener] serves one log. The package is a module of its own because it needs the driver
// pgx. The log works with any driver.
package pgxlisten
