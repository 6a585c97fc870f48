package redislog_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// grace is the delay that a busy machine may add to a deadline.
const grace = 700 * time.Millisecond

// bounded fails when f takes longer than limit.
func bounded(t *testing.T, what string, limit time.Duration, f func() error) error {
	t.Helper()
	return redistest.Within(t, what, limit+grace, f)
}

// wantStuck checks that calls fail in time, by their own limit and by their context's.
func wantStuck(t *testing.T, l *redislog.Log, at invalidate.Cursor) {
	t.Helper()
	for name, call := range map[string]func(ctx context.Context) error{
		"Sync": func(ctx context.Context) error { _, err := l.Sync(ctx, at, both(1)); return err },
		"Tail": func(ctx context.Context) error { _, err := l.Tail(ctx, at); return err },
	} {
		if err := bounded(t, name, l.Bound(), func() error { return call(t.Context()) }); err == nil {
			t.Errorf("%s = nil, want an error", name)
		} else if !strings.HasPrefix(err.Error(), "redislog: "+strings.ToLower(name)+": ") {
			t.Errorf("%s: error text %q", name, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), l.Bound()/10)
		if err := bounded(t, name+" with a deadline", l.Bound()/10, func() error { return call(ctx) }); err == nil {
			t.Errorf("%s with a deadline = nil, want an error", name)
		}
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- call(ctx) }()
		cancel()
		if err := bounded(t, name+" cancelled", 0, func() error { return <-over }); err == nil {
			t.Errorf("%s cancelled = nil, want an error", name)
		}
	}
}

// wantBack checks that the log works, or works again. Its calls have half a second each, which a busy machine may take.
func wantBack(t *testing.T, p *process) {
	t.Helper()
	redistest.Eventually(t, "the log does not come back", func(context.Context) error {
		_, err := p.trySync(both(2))
		return err
	})
}

func TestServerFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct {
		name      string
		fault     func(t testing.TB)
		afterward func(t testing.TB)
	}{
		{"stopped", r.server.Stop, r.server.Cont},
		{"killed", r.server.Kill, r.server.Restart},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts := r.server.Options() // a log must not depend on them
			opts.ContextTimeoutEnabled, opts.MaxRetries = false, 5
			opts.ReadTimeout, opts.PoolTimeout, opts.DialTimeout, opts.DialerRetries = time.Minute, time.Minute, time.Minute, 5
			p := r.openBounded(closed(t, redis.NewClient(opts)), redislog.DefaultBound)
			wantBack(t, p)
			tc.fault(t)
			wantStuck(t, p.log, p.at)
			tc.afterward(t)
			wantBack(t, p)
		})
	}
}

// behindProxy returns a process that reaches its server through a proxy.
func behindProxy(t *testing.T) (*process, *redistest.Proxy) {
	t.Helper()
	r := newRig(t)
	proxy := redistest.NewProxy(t, r.server.Addr())
	opts := r.server.Options()
	opts.Addr = proxy.Addr()
	return r.openBounded(closed(t, redis.NewClient(opts)), redislog.DefaultBound), proxy
}

func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	p, proxy := behindProxy(t)
	for _, tc := range []struct {
		name  string
		fault func()
	}{
		{"half-open", proxy.BlackHole},
		{"dropped", proxy.Drop},
		{"slow", func() { proxy.Delay(2 * p.log.Bound()) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantBack(t, p) // opens a connection
			tc.fault()
			wantStuck(t, p.log, p.at)
			proxy.Drop() // ends late deliveries
			proxy.Pass()
			wantBack(t, p)
		})
	}
}

// A server that is gone fails immediately, also for a Tail that waits there.
func TestTailOfAKilledServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--maxmemory", "0")) // its own
	p := r.started(1)
	over := make(chan error, 1)
	go func() { _, err := p.log.Tail(t.Context(), p.at); over <- err }()
	redistest.Eventually(t, "Tail does not wait", func(context.Context) error {
		return wantBlocked(r, 1)
	})
	r.server.Kill(t)
	if err := bounded(t, "Tail", 0, func() error { return <-over }); err == nil {
		t.Error("Tail = nil, want an error")
	}
}

func wantBlocked(r *rig, n int) error {
	info, _ := r.do("INFO", "clients").(string)
	if !strings.Contains(info, fmt.Sprintf("blocked_clients:%d\r", n)) {
		return errors.New("no client is blocked")
	}
	return nil
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--maxmemory", "0")) // its own
	p := r.started(1)
	over := make(chan error, 1)
	go func() { _, err := p.log.Tail(t.Context(), p.at); over <- err }()
	redistest.Eventually(t, "Tail does not wait", func(context.Context) error { return wantBlocked(r, 1) })
	for range 2 {
		if err := bounded(t, "Close", 0, p.log.Close); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	if err := <-over; !errors.Is(err, redislog.ErrClosed) {
		t.Errorf("Tail = %v, want %v", err, redislog.ErrClosed)
	}
	if _, err := p.log.Sync(t.Context(), p.at, both(2)); !errors.Is(err, redislog.ErrClosed) {
		t.Errorf("Sync = %v, want %v", err, redislog.ErrClosed)
	}
	other := r.process() // the caller's clients still work
	other.sync(invalidate.Append{})
}

// Another server, or another program on its port, may answer anything.
func TestGarbage(t *testing.T) {
	t.Parallel()
	p, proxy := behindProxy(t)
	for _, reply := range []string{
		"$99999999999999999\r\n", "$-5\r\n", "$x\r\n", "*999999999999999999\r\n", "*-2\r\n", ":1\r\n", "$-1\r\n",
		"*1\r\n:1\r\n", "secret\r\n", "\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "-secret stuff\r\n", "_\r\n",
		"-ERR unknown command 'EVALSHA', with args beginning with: 'secret'\r\n", "*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
		"*8\r\n*0\r\n*1\r\n*2\r\n$1\r\nx\r\n:1\r\n:1\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n",
	} {
		t.Run(fmt.Sprintf("%.20q", reply), func(t *testing.T) {
			wantBack(t, p) // opens the connection that then gets the garbage
			proxy.Garbage([]byte(reply))
			_, err := p.log.Sync(t.Context(), p.at, both(1))
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("Sync = %v, want an error without what was answered", err)
			}
			if _, err = p.log.Tail(t.Context(), p.at); err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("Tail = %v, which contains the reply", err)
			}
			proxy.Drop()
			proxy.Pass()
			wantBack(t, p)
		})
	}
}

// Known errors from before the reply are reported in full. The texts of other errors are left
// out, because they may quote data.
func TestDialErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err   error
		shown bool
	}{
		{&tls.CertificateVerificationError{Err: errors.New("secret")}, true},
		{&net.OpError{Op: "dial", Err: errors.New("secret")}, true},
		{errors.New("redis: cluster has no secret"), true},
		{errors.New(`redis: can't parse "secret"`), false},
		{errors.New("secret"), false},
		{redis.Nil, false},
	} {
		opts := &redis.Options{Addr: nowhere}
		opts.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, tc.err }
		l := newLog(t, closed(t, redis.NewClient(opts)), redislog.Config{Prefix: "app"})
		_, err := l.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
		if err == nil || strings.Contains(err.Error(), "secret") != tc.shown || errors.Is(err, redislog.ErrReply) == tc.shown {
			t.Errorf("Sync where the dialer fails with %v = %v", tc.err, err)
		}
	}
}
