package sqlpgx

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// firstPause is the pause after the first failure. The longest pause is ListenerConfig.Retry.
const firstPause = 50 * time.Millisecond

// run connects and listens until Close.
func (l *Listener) run() {
	defer close(l.done)
	pause := firstPause
	for l.ctx.Err() == nil {
		listened, err := l.session()
		l.state(fmt.Errorf("sqlpgx: %w", err))
		if listened {
			pause = firstPause
		}
		pause = min(pause, l.cfg.Retry)
		// Half of the pause is random, so the processes of a fleet do not all reconnect at the same
		// time.
		l.sleep(pause/2 + rand.N(pause/2+1))
		pause *= 2
	}
	l.state(ErrClosed)
}

func (l *Listener) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.ctx.Done():
	}
}

// session runs one connection. It returns whether it listened, and why it ended.
func (l *Listener) session() (listened bool, err error) {
	conn, err := l.connect()
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // the connection has failed, so its error does not matter
	}()
	l.state(nil)
	l.wake() // notifications may have been missed while there was no connection
	for {
		if err := l.next(conn); err != nil {
			return true, err
		}
	}
}

func (l *Listener) connect() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.Check)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.cfg.Conn)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+sqllog.Channel); err != nil {
		_ = conn.Close(ctx) // the first error says more
		return nil, err
	}
	return conn, nil
}

// next waits for one notification. When none arrives for Check, it pings the server, because a
// connection can be lost without an error.
func (l *Listener) next(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.Check)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	switch {
	case err == nil:
		if n.Payload == l.cfg.Namespace {
			l.wake()
		}
		return nil
	case l.ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	ctx, cancel = context.WithTimeout(l.ctx, l.cfg.Check)
	defer cancel()
	return conn.Ping(ctx)
}
