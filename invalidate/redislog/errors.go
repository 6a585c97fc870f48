package redislog

import (
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/internal/rediserr"
)

// The reasons to refuse a configuration, all reported by [Log.Validate].
var (
	ErrPrefix       = fmt.Errorf("redislog: Prefix must have 1 to %d bytes and no braces, which mark the part that chooses a cluster's slot", MaxPrefix)
	ErrBound        = fmt.Errorf("redislog: Bound must be %v to %v", MinBound, MaxBound)
	ErrRetention    = fmt.Errorf("redislog: KeyRetention and ScopeRetention must be %d to %d records", MinRetention, MaxRetention)
	ErrNoClient     = errors.New("redislog: no client")
	ErrClient       = errors.New("redislog: client of unknown type, which cannot be copied; pass the *redis.Client or *redis.ClusterClient")
	ErrRing         = errors.New("redislog: redis.Ring moves the log to another server when one is away")
	ErrReplicaReads = errors.New("redislog: client reads from replicas, which lag behind the log")
	ErrClientCache  = errors.New("redislog: client caches replies on its side")
)

// The errors of calls, beside those of the client library.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("log is closed")
	// ErrAppend refuses what cannot be written as a record.
	ErrAppend = errors.New("bad append")
	// ErrNoRunID says that the server tells neither scripts nor the client which
	// process it is and whom it has followed. So no caller can know whether it lost
	// records.
	ErrNoRunID = errors.New("server does not tell its run_id and master_replid: the user needs INFO")
	// ErrReply says that the answer is none of the script's.
	ErrReply = errors.New("unreadable reply")
)

// fail names the operation. What it returns is fit for logs: records hold hashes
// only, but the client library quotes what it cannot parse, and a server may
// quote the arguments it was sent.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redislog: %s: %w", op, rediserr.Safe(err, ErrReply, own...))
}

// fail names the operation, or says why the server refuses the client.
func (l *Log) fail(op string, err error) error {
	if denied := rediserr.Denied(l.rdb, err); denied != nil && !errors.Is(err, ErrNoRunID) {
		return fmt.Errorf("redislog: %w", denied)
	}
	return fail(op, err)
}

// own are the errors of this package, whose texts are its own.
var own = []error{
	ErrPrefix, ErrBound, ErrRetention, ErrNoClient, ErrClient, ErrRing, ErrReplicaReads, ErrClientCache,
	ErrClosed, ErrAppend, ErrNoRunID, ErrReply,
}
