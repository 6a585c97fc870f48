package redislog

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/rediserr"
)

// The reasons to refuse a configuration, all reported by [Log.Validate].
var (
	ErrPrefix       = fmt.Errorf("redislog: Prefix must have 1 to %d bytes and no braces, which mark the part that chooses a cluster's slot", MaxPrefix)
	ErrBound        = fmt.Errorf("redislog: Bound must be %v to %v", MinBound, MaxBound)
	ErrRetention    = fmt.Errorf("redislog: KeyRetention and ScopeRetention must be %d to %d records", MinRetention, MaxRetention)
	ErrNoClient     = errors.New("redislog: no client: pass New a *redis.Client or *redis.ClusterClient, and check the error of what made it")
	ErrClient       = errors.New("redislog: client of unknown type, which cannot be copied; pass the *redis.Client or *redis.ClusterClient")
	ErrRing         = errors.New("redislog: redis.Ring moves the log to another server when one is down")
	ErrReplicaReads = errors.New("redislog: client reads from replicas, which lag behind the log")
	ErrClientCache  = errors.New("redislog: client caches replies, but the log must read them from the server")
)

var refusals = rediserr.Refusals{NoClient: ErrNoClient, Client: ErrClient, Ring: ErrRing, ReplicaReads: ErrReplicaReads, ClientCache: ErrClientCache}

// The errors of calls. Calls also return errors of the client library.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("log is closed")
	// ErrAppend refuses an append that cannot be written as a record.
	ErrAppend = errors.New("bad append")
	// ErrNoRunID says that neither scripts nor the client can read the server's run id and
	// replication id. Without them no caller can know whether the log lost records.
	ErrNoRunID = errors.New("server does not show its run_id and master_replid: allow INFO to the user")
	// ErrKeyType says that another program wrote a key of the log, whose type differs. The log does not
	// touch it.
	ErrKeyType = errors.New("a key of the log has another type")
	// ErrVersion refuses a log that a program of another version has written. Nothing was appended, and
	// no cell was removed.
	ErrVersion = errors.New("log has another version")
	// ErrNoFunctions says that the server has no functions, as before Redis 7.
	ErrNoFunctions = errors.New("server has no functions: send the text of redislog.Function without its first line by EVAL")
	// ErrReply says that the reply is not one that the script returns.
	ErrReply = errors.New("unreadable reply")
)

// fail names the operation. The error is safe for logs: the client library quotes what it cannot parse,
// and a server may quote the arguments of a command, which name keys.
func fail(op string, err error) error { return adapter.Fail(op, err) }

// fail is the function fail, or says why the server denies the client access or refuses a key.
func (l *Log) fail(op string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		err = &keyTypeError{fmt.Sprintf("%v: want the hash %q, streams %q and %q: see which one differs by TYPE, "+
			"then give the log another Prefix, or delete the key, after which processes discard everything cached", ErrKeyType, l.keys[0], l.keys[1], l.keys[2]), err}
	}
	return adapter.FailOn(l.rdb, op, err)
}

// keyTypeError does not quote the server, which names a script and no key.
type keyTypeError struct {
	text string
	err  error
}

func (e *keyTypeError) Error() string   { return e.text }
func (e *keyTypeError) Unwrap() []error { return []error{ErrKeyType, e.err} }

var adapter = rediserr.Adapter{Name: "redislog", Reply: ErrReply, Own: []error{
	ErrPrefix, ErrBound, ErrRetention, ErrNoClient, ErrClient, ErrRing, ErrReplicaReads, ErrClientCache,
	ErrClosed, ErrAppend, ErrNoRunID, ErrKeyType, ErrVersion, ErrNoFunctions, ErrReply,
}}
