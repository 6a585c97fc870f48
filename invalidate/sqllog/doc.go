// Package sqllog keeps the log of invalidations in the application's own database, so
// that a transaction which commits has invalidated, and one that rolls back has not.
package sqllog
