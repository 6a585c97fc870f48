package redislog

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/rediserr"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

//go:embed sync.lua
var syncSource string

var syncScript = redis.NewScript(syncText())

// syncText returns the script. Tests switch safeguards off; it replaces their conditions.
func syncText() string {
	s := syncSource
	for guard, condition := range map[safeguard.Guard]string{
		safeguard.RunID:  "run == h[RUN]",
		safeguard.ReplID: "rep == h[REP]",
		safeguard.Memory: "not reloaded(h[WIT])",
	} {
		if safeguard.Off(guard) {
			s = strings.Replace(s, condition, "true", 1)
		}
	}
	return s
}

// A page ends after so many records or bytes of fences of either stream, plus or minus a chunk of
// up to 100 records. Redis needs about 3 ms for such a page, and does nothing else meanwhile. A process
// that starts reads a full log of the default size in a hundred pages and half a second.
const (
	pageRecords = 1000
	pageBytes   = 1 << 20
)

// runArg is the index of the run id in the arguments of the script. The replication id follows it.
const runArg = 7

// Sync appends a and returns the records after at; see [invalidate.Log]. It is one EVALSHA, or
// three round trips when the server denies INFO to scripts. It takes at most Bound.
//
// Its errors wrap ErrAppend (then nothing was appended), ErrNoRunID, ErrClosed, an error of the
// configuration, of ctx, of the client library or of the server. redis.IsReadOnlyError and the
// like recognize them.
//
// It removes or stores cells in the same step, before it appends. On a Cluster, where cells are on many
// servers, that fails with ErrAppend.
func (l *Log) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	p, err := l.sync(ctx, at, a)
	return p, l.fail("sync", err)
}

// Server identifies the client that the log was made from, as redistier does. It is empty for a cluster.
func (l *Log) Server() string {
	if l.control == nil {
		return ""
	}
	return rediserr.Server(l.rdb)
}

// Open does nothing: the log takes invalidations only by Sync.
func (*Log) Open(invalidate.Hooks) {}

func (l *Log) sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (p invalidate.Page, err error) {
	if err := l.ready(ctx); err != nil {
		return p, err
	}
	q, args, err := l.args(at, a) // encode a now: the exchange may outlive the call, and must not use a
	if err != nil {
		return p, err
	}
	cells, stores := a.Remove, a.Store != nil
	if s := a.Store; stores {
		cells, args = []string{s.Cell}, append(args, s.Claim, lifetimes.Millis(s.Lease), s.Frame, lifetimes.Millis(s.TTL))
	}
	keys := l.keys
	if len(cells) > 0 {
		keys = slices.Concat(l.keys, cells)
	}
	return l.do(ctx, l.cfg.Bound, func(ctx context.Context) (p invalidate.Page, err error) {
		reply, err := l.exchange(ctx, keys, args)
		if err != nil {
			return p, err
		}
		if err := l.checkVersion(reply); err != nil {
			return p, err
		}
		var stored invalidate.Stored
		if stores {
			if reply, stored, err = readStored(reply); err != nil {
				return p, err
			}
		}
		l.checkWitness(reply)
		if p, err = readReply(reply, q); err == nil {
			p.Stored = stored
		}
		return p, err
	})
}

func (l *Log) args(at invalidate.Cursor, a invalidate.Append) (q question, args []any, err error) {
	q = question{at: at, epoch: logwire.NewID(), keyID: logwire.NewID(), scopID: logwire.NewID()}
	if q.keys, q.scopes, err = logwire.Payloads(a); err != nil {
		return q, nil, fmt.Errorf("%w: %w", ErrAppend, err)
	}
	switch n := len(a.Remove); {
	case n > invalidate.MaxCells:
		return q, nil, fmt.Errorf("%w: %d cells to remove, at most %d", ErrAppend, n, invalidate.MaxCells)
	case n > 0 && a.Store != nil:
		return q, nil, fmt.Errorf("%w: cells to remove and one to store", ErrAppend)
	case l.cluster != nil && (n > 0 || a.Store != nil):
		return q, nil, fmt.Errorf("%w: cells of a cluster cannot be removed or stored in one step", ErrAppend)
	}
	epoch := max(at.Key.Epoch(), at.Scope.Epoch())
	if epoch >= maxEpoch {
		return q, nil, fmt.Errorf("%w: cursor of epoch %d, which no log reaches", ErrAppend, epoch)
	}
	known := [3]uint64{at.Epoch, at.KeyID, at.ScopeID}
	if safeguard.Off(safeguard.IDs) {
		known = [3]uint64{}
	}
	ids := rawIDs(known[0], known[1], known[2], q.epoch, q.keyID, q.scopID)
	// Pointers to these words need no allocation each.
	w := &[...]string{formatID(at.Key), formatID(at.Scope), q.keys, q.scopes, ids[0], ids[1], ids[2], ids[3], ids[4], ids[5]}
	args = make([]any, 0, 19+4)
	args = append(args, epoch, &w[0], &w[1], &w[2], &w[3], l.limits[0], l.limits[1], "", "", l.limits[2], pageRecords, pageBytes,
		&w[4], &w[5], &w[6], &w[7], &w[8], &w[9], logwire.Version)
	return q, args, nil
}

// checkVersion refuses the reply of a log of another version.
func (l *Log) checkVersion(reply []any) error {
	if len(reply) != versionSize {
		return nil
	}
	has, _ := reply[0].(string)
	return fmt.Errorf("%w (%.20q, want %q): delete %q, %q and %q, or set another Prefix", ErrVersion, has, logwire.Version, l.keys[0], l.keys[1], l.keys[2])
}

// checkWitness warns once when the server has no witness.
func (l *Log) checkWitness(reply []any) {
	if n := len(reply); n != replySize && n != shortSize || reply[n-1] != noWitness || l.noWitness.Swap(true) {
		return
	}
	l.logger().Warn("redislog: the server does not show whether its keys were loaded, so a log that is put back into the same process by RESTORE or DEBUG RELOAD is not noticed; allow OBJECT to the user, and leave hash-max-listpack-value below 8192",
		"prefix", l.cfg.Prefix)
}

// exchange runs the script.
func (l *Log) exchange(ctx context.Context, keys []string, args []any) ([]any, error) {
	if !l.noInfo.Load() {
		reply, err := syncScript.Run(ctx, l.control, keys, args...).Slice()
		if err != nil || len(reply) > 0 {
			return reply, err
		}
		if !l.noInfo.Swap(true) {
			l.logger().Warn("redislog: scripts cannot read which server runs them, so every Sync takes three round trips; allow INFO to the user",
				"prefix", l.cfg.Prefix)
		}
	}
	reply, err := l.exchangeVerified(ctx, keys, args)
	if err == nil && len(reply) == 0 {
		err = fmt.Errorf("%w: nothing for a sync", ErrReply)
	}
	return reply, err
}

// exchangeVerified asks for the run id and the replication id, and runs the script with them, on
// one connection. A connection ends when its server process ends, so the script runs in the
// process that answered. Two connections would prove nothing. It asks again for every Sync,
// because a proxy may have joined several of its connections into one of ours.
func (l *Log) exchangeVerified(ctx context.Context, keys []string, args []any) (reply []any, err error) {
	node, err := l.node(ctx)
	if err != nil {
		return nil, err
	}
	conn := node.Conn()
	defer func() {
		_ = conn.Close() // back to the pool
		if err != nil && l.cluster != nil {
			l.cluster.ReloadState(ctx) // the slot may have moved; does not wait
		}
	}()
	run, rep, err := serverIDs(ctx, conn)
	if err != nil {
		return nil, err
	}
	args = slices.Clone(args)
	args[runArg], args[runArg+1] = run, rep
	return syncScript.Run(ctx, conn, keys, args...).Slice()
}

// serverIDs asks a server for its run id and its replication id.
func serverIDs(ctx context.Context, conn *redis.Conn) (run, rep string, err error) {
	if run, err = infoField(ctx, conn, "server", "run_id:"); err != nil {
		return "", "", err
	}
	rep, err = infoField(ctx, conn, "replication", "master_replid:")
	return run, rep, err
}

// infoField asks for a section of INFO and returns one of its fields.
func infoField(ctx context.Context, conn *redis.Conn, section, name string) (string, error) {
	info, err := conn.Info(ctx, section).Result()
	if redis.IsPermissionError(err) {
		return "", fmt.Errorf("%w: %w", ErrNoRunID, err)
	}
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(v), nil
		}
	}
	return "", ErrNoRunID
}

// node returns the client of the server that has the log.
func (l *Log) node(ctx context.Context) (*redis.Client, error) {
	if l.cluster != nil {
		return l.cluster.MasterForKey(ctx, l.keys[0])
	}
	c, ok := l.control.(*redis.Client)
	if !ok {
		return nil, ErrClient
	}
	return c, nil
}

func (l *Log) logger() *slog.Logger {
	if l.cfg.Logger != nil {
		return l.cfg.Logger
	}
	return slog.Default()
}
