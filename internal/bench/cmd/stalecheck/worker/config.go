// Package worker is one of the processes of a run. It has its own tiers on the shared Redis, reads,
// invalidates, and records the events.
package worker

import (
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/redistier"
)

// Env is the environment variable that makes a process a worker. It holds a
// Config as JSON.
const Env = "STALECHECK_WORKER"

// Run has the options that the workers, the servers and the check of a run share.
type Run struct {
	DB       string        // the kind of database that holds the source and the log; empty: both are in Redis
	DBCells  bool          // the database holds the cells as well
	Bound    time.Duration // of the log
	Settle   bool          // Settle follows every invalidation: no process can be stale then
	Tickets  bool          // reads have the tickets of all processes: none may be stale
	Soft     bool          // changed values expire; every read reports whether its value is stale
	Plain    bool          // in a database, writers only run UPDATE and COMMIT, and triggers invalidate; in Redis, they are processes of redis-cli
	Composed bool          // most reads are of values built from cached values
	Without  string        // the safeguards to switch off, separated by commas, or empty
	Seed     uint64

	Keys, Writers int
	WritePause    time.Duration // the mean between two calls of one writer
	SlowLoads     float64       // the share of loads that sleep after reading the source
}

// Controls that need no build tag, because the worker implements them.
const (
	NoLog      = "log"         // there is no log at all
	NoOutbox   = "outbox"      // invalidations follow COMMIT and are not part of the transaction
	CellsFirst = "cells-first" // cells are removed before their rows are numbered
	NoCalls    = "calls"       // one write in ten is not invalidated
	NoTriggers = "triggers"    // the source of plain SQL clients has no triggers
	NoTickets  = "tickets"     // reads have none
	NoCell     = "cell"        // the function that redis-cli calls removes no cell
)

// Removed returns the safeguards to switch off.
func (r *Run) Removed() []string {
	if r.Without == "" {
		return nil
	}
	return strings.Split(r.Without, ",")
}

// Lacks reports whether a safeguard is switched off.
func (r *Run) Lacks(guard string) bool { return slices.Contains(r.Removed(), guard) }

// Config says what a worker does.
type Config struct {
	Run

	Proc     int    // its number
	Server   Server // the Redis that the workers share
	Source   string // the address of the Redis that holds the source, if no database does
	At       string // the database: the URL, the data source name, or the path of the file
	Prefix   string // of all keys in the shared Redis
	KeysOnly bool   // no invalidation by prefix or tag

	Events string // the file to record to
}

// Server says how a worker reaches Redis.
type Server struct {
	Addrs   []string // of the server, the Sentinels or the nodes
	Master  string   // the name that the Sentinels know
	Cluster bool
}

// Report is the final report of a worker, in addition to its events.
type Report struct {
	Loads, SlowLoads int64
	Foreign          int64          // reads that returned another key's value
	Hasty            int64          // reads that did not wait for a slow load
	Errors           map[string]int // failures, by operation and text
	Stats            cache.Stats    // the library's own numbers
}

// client returns a client for the server. Odd workers let the client library resend commands, which
// is its default. The protocol must tolerate both.
func (s Server) client(proc int) redis.UniversalClient {
	retries := -1
	if proc%2 == 1 {
		retries = 3
	}
	return redis.NewUniversalClient(redistier.Options(&redis.UniversalOptions{
		Addrs: s.Addrs, MasterName: s.Master, IsClusterMode: s.Cluster, MaxRetries: retries,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}))
}
