package redislog

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

//go:embed sync.lua
var syncSource string

var syncScript = redis.NewScript(syncSource)

// A page ends behind so many records or bytes of fences of either stream, give
// or take a chunk of 100 records. So many take Redis some 3 ms, in which it does
// nothing else; a process that starts reads a full log of the default size in a
// hundred pages and half a second.
const (
	pageRecords = 1000
	pageBytes   = 1 << 20
)

// The places of the payloads and of the run id in the arguments of the script.
const (
	keysArg = 3
	runArg  = 7
)

// Sync appends a and returns what lies behind at; see [invalidate.Log]. It is
// one EVALSHA, or two round trips where the server denies INFO to scripts. It
// takes at most Bound.
//
// Its errors wrap ErrAppend, with nothing appended, ErrNoRunID, ErrClosed, those
// of the configuration, ctx's, or what the client library or the server said:
// redis.IsReadOnlyError and its like see through them.
func (l *Log) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	p, err := l.sync(ctx, at, a, nil)
	return p, fail("sync", err)
}

// SyncRemoving is Sync, and removes cells in the same step before anything is
// appended; see [invalidate.CellRemover]. It is one EVALSHA as well. On a
// Cluster, where cells are on many servers, it fails.
func (l *Log) SyncRemoving(ctx context.Context, at invalidate.Cursor, a invalidate.Append, cells []string) (invalidate.Page, error) {
	var err error
	switch {
	case l.cluster != nil:
		err = fmt.Errorf("%w: cells of a cluster cannot be removed in one step", ErrAppend)
	case len(cells) > invalidate.MaxCells:
		err = fmt.Errorf("%w: %d cells to remove, at most %d", ErrAppend, len(cells), invalidate.MaxCells)
	}
	var p invalidate.Page
	if err == nil {
		p, err = l.sync(ctx, at, a, cells)
	}
	return p, fail("sync", err)
}

// RemovesFrom reports whether server is the client the log was made from, of a
// single server; see [invalidate.CellRemover].
func (l *Log) RemovesFrom(server any) bool {
	c, ok := server.(*redis.Client)
	return ok && l.cluster == nil && l.control != nil && l.rdb == redis.UniversalClient(c)
}

func (l *Log) sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append, cells []string) (p invalidate.Page, err error) {
	if err := l.ready(ctx); err != nil {
		return p, err
	}
	args, err := l.args(at, a) // before do, which may outlive the call, and a with it
	if err != nil {
		return p, err
	}
	keys := l.keys
	if len(cells) > 0 {
		keys = slices.Concat(l.keys, cells)
	}
	payloads := [2]string{}
	payloads[0], _ = args[keysArg].(string)
	payloads[1], _ = args[keysArg+1].(string)
	return l.do(ctx, l.cfg.Bound, func(ctx context.Context) (invalidate.Page, error) {
		reply, err := l.exchange(ctx, keys, args)
		if err != nil {
			return invalidate.Page{}, err
		}
		p, mark, err := readReply(reply, at, payloads[0], payloads[1])
		if err == nil {
			l.mark.Store(&mark)
		}
		return p, err
	})
}

func (l *Log) args(at invalidate.Cursor, a invalidate.Append) ([]any, error) {
	keys, err := encode(a.Keys, keyStream)
	if err != nil {
		return nil, err
	}
	scopes, err := encode(a.Scopes, scopeStream)
	if err != nil {
		return nil, err
	}
	epoch := max(at.Key.Epoch(), at.Scope.Epoch())
	if epoch >= maxEpoch {
		return nil, fmt.Errorf("%w: cursor of epoch %d, which no log reaches", ErrAppend, epoch)
	}
	run, mark := "", ""
	if m := l.mark.Load(); m != nil {
		mark = *m
	}
	if safeguard.Off(safeguard.RunID) {
		run = "off"
	}
	return []any{
		epoch, formatID(at.Key), formatID(at.Scope), keys, scopes,
		l.cfg.KeyRetention, l.cfg.ScopeRetention,
		run, int64((l.cfg.Bound + time.Millisecond - 1) / time.Millisecond), pageRecords, pageBytes, mark,
	}, nil
}

// exchange runs the script.
func (l *Log) exchange(ctx context.Context, keys []string, args []any) ([]any, error) {
	if !l.noInfo.Load() {
		reply, err := syncScript.Run(ctx, l.control, keys, args...).Slice()
		if err != nil || len(reply) > 0 {
			return reply, err
		}
		if !l.noInfo.Swap(true) {
			l.logger().Warn("redislog: scripts are not told the server's run_id, so every Sync takes two round trips; allow INFO to the user",
				"prefix", l.cfg.Prefix)
		}
	}
	reply, err := l.exchangeVerified(ctx, keys, args)
	if err == nil && len(reply) == 0 {
		err = fmt.Errorf("%w: nothing for a sync", ErrReply)
	}
	return reply, err
}

// exchangeVerified asks for the run id and runs the script with it, on one
// connection. A connection ends where its server's process does, so the script
// runs in the process that answered; nothing could be inferred from two
// connections. It does not keep the answer for the next Sync: a proxy between
// may have made a connection of ours out of several of its own.
func (l *Log) exchangeVerified(ctx context.Context, keys []string, args []any) (reply []any, err error) {
	node, err := l.node(ctx)
	if err != nil {
		return nil, err
	}
	conn := node.Conn()
	defer func() {
		_ = conn.Close() // back to the pool
		if err != nil && l.cluster != nil {
			l.cluster.ReloadState(ctx) // the slot may have moved; returns at once
		}
	}()
	info, err := conn.Info(ctx, "server").Result()
	if redis.IsPermissionError(err) {
		return nil, fmt.Errorf("%w: %w", ErrNoRunID, err)
	}
	if err != nil {
		return nil, err
	}
	run := runID(info)
	if run == "" {
		return nil, ErrNoRunID
	}
	args = slices.Clone(args)
	args[runArg] = run
	return syncScript.Run(ctx, conn, keys, args...).Slice()
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

// runID finds the run id in the reply of INFO.
func runID(info string) string {
	for line := range strings.Lines(info) {
		if id, ok := strings.CutPrefix(line, "run_id:"); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

func (l *Log) logger() *slog.Logger {
	if l.cfg.Logger != nil {
		return l.cfg.Logger
	}
	return slog.Default()
}
