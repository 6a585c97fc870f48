package sqlpgx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// The defaults of a [ListenerConfig].
const (
	DefaultRetry = 5 * time.Second
	DefaultCheck = 10 * time.Second
)

// The errors of this package. Calls also return errors of ctx and of the server.
var (
	// ErrConfig is wrapped by the errors of [NewListener].
	ErrConfig = errors.New("sqlpgx: bad configuration")

	// ErrClosed is returned by Wait after Close.
	ErrClosed = errors.New("sqlpgx: listener is closed")

	// ErrConnecting is returned by Err until the first attempt to connect has ended.
	ErrConnecting = errors.New("sqlpgx: not connected yet")
)

// ListenerConfig says how a [Listener] connects. Conn is required; the zero value of every other
// field is useful.
type ListenerConfig struct {
	// Conn is the server, as pgx.ParseConfig returns it. It is copied.
	Conn *pgx.ConnConfig

	// Namespace is the namespace of the log. If empty, it is sqllog.DefaultNamespace.
	Namespace string

	// Retry is the longest pause between two attempts to connect. The first pause is 50 ms, and
	// each later one is twice as long. If zero, it is DefaultRetry.
	Retry time.Duration

	// Check is how often the listener checks a silent connection, and how long the server may
	// take to answer. If zero, it is DefaultCheck.
	Check time.Duration

	// Logger gets a warning when the connection is lost, and a line when it is back. If nil, it is
	// slog.Default().
	Logger *slog.Logger
}

// Listener receives the notifications of a log. Wait and Err may be called concurrently with each
// other and with Close. A Listener has one goroutine, which ends with Close.
type Listener struct {
	cfg   ListenerConfig // with the defaults filled in
	heard chan struct{}  // holds one: rows were numbered since the last Wait
	ctx   context.Context
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended

	mu  sync.Mutex // protects err
	err error      // why there is no connection; nil while there is one
}

// NewListener starts a listener, which connects in the background. Its error wraps [ErrConfig].
func NewListener(cfg ListenerConfig) (*Listener, error) {
	if cfg.Conn == nil {
		return nil, fmt.Errorf("%w: Conn is nil: pass what pgx.ParseConfig returns", ErrConfig)
	}
	if cfg.Retry < 0 || cfg.Check < 0 {
		return nil, fmt.Errorf("%w: Retry is %v and Check is %v: use durations above zero, or 0 for the default", ErrConfig, cfg.Retry, cfg.Check)
	}
	cfg.Conn = cfg.Conn.Copy()
	cfg.Namespace = cmp.Or(cfg.Namespace, sqllog.DefaultNamespace)
	cfg.Retry = cmp.Or(cfg.Retry, DefaultRetry)
	cfg.Check = cmp.Or(cfg.Check, DefaultCheck)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	l := &Listener{cfg: cfg, heard: make(chan struct{}, 1), done: make(chan struct{}), err: ErrConnecting}
	l.ctx, l.stop = context.WithCancel(context.Background())
	go l.run()
	return l, nil
}

// Wait waits until rows were numbered since the last call returned, or since NewListener. It is for
// Config.Wait of package sqllog. While there is no connection it keeps waiting, and returns nil
// when the connection is back. It fails when ctx ends, and with [ErrClosed] after Close.
func (l *Listener) Wait(ctx context.Context) error {
	select {
	case <-l.heard:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return ErrClosed
	}
}

// Err returns why there is no connection now, and nil while there is one. After Close it returns
// [ErrClosed].
func (l *Listener) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends the connection and every Wait. It may be called more than once.
func (l *Listener) Close() {
	l.stop()
	<-l.done
}

// wake ends the current Wait, or the next one.
func (l *Listener) wake() {
	select {
	case l.heard <- struct{}{}:
	default: // an earlier signal waits
	}
}

// state notes whether there is a connection, and logs a change.
func (l *Listener) state(err error) {
	if l.ctx.Err() != nil {
		err = ErrClosed
	}
	l.mu.Lock()
	before := l.err
	l.err = err
	l.mu.Unlock()
	switch {
	case errors.Is(err, ErrClosed):
	case err == nil && before != nil && !errors.Is(before, ErrConnecting):
		l.cfg.Logger.Info("sqlpgx: connected again", "namespace", l.cfg.Namespace)
	case err != nil && (before == nil || errors.Is(before, ErrConnecting)):
		l.cfg.Logger.Warn("sqlpgx: no connection; the log polls meanwhile", "namespace", l.cfg.Namespace, "error", err)
	}
}
