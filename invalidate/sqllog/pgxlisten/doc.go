// Package pgxlisten lets a log of package sqllog hear of new records at once, by LISTEN on
// a PostgreSQL connection of its own. Without it a process looks every Config.Poll.
//
// No promise rests on it. While its connection is lost, the log polls, and this package
// connects again.
//
// The connection must be a direct one. Through PgBouncer in transaction mode LISTEN seems
// to work, but no notification arrives. So pass the address of the server itself, or that
// of a PgBouncer in session mode. Each process needs one more connection than its pools
// have.
//
// A [Listener] serves one log. It is a module of its own because it needs the driver pgx;
// the log itself works with any driver.
package pgxlisten
