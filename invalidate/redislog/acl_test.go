package redislog_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// user makes a user with rules and returns a client that logs in as it.
func user(t testing.TB, r *rig, rules ...any) *redis.Client {
	t.Helper()
	r.do(append([]any{"ACL", "SETUSER", "u" + r.prefix, "reset", "on", ">secret"}, rules...)...)
	t.Cleanup(func() { r.server.Client().Do(context.Background(), "ACL", "DELUSER", "u"+r.prefix) })
	opts := r.server.Options()
	opts.Username, opts.Password = "u"+r.prefix, "secret"
	return closed(t, redis.NewClient(opts))
}

// The documented rights are enough, also to repair what another program wrote.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open(user(t, r, "~{"+r.prefix+"}:*", "-@all", "+eval", "+evalsha", "+hset", "+hmget",
		"+xadd", "+xrange", "+xrevrange", "+xread", "+del", "+time", "+info", "+object"))
	p.sync(both(1))
	r.do("XADD", r.k, "*", "name", "value")
	p.wantBump()
	if _, err := p.log.Tail(t.Context(), invalidate.Cursor{}); err != nil {
		t.Errorf("Tail = %v", err)
	}
}

func TestDeniedWrites(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sound := r.started(1)
	p := r.open(user(t, r, "~*", "+@all", "-xadd"))
	for range 2 {
		if _, err := p.trySync(both(1)); err == nil {
			t.Error("Sync without XADD = nil, want an error")
		}
	}
	sound.wantQuiet() // and nothing was deleted
}

func TestInfoDenied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, rules := range [][]any{{"~*", "+@all", "-info"}, {"~*", "+@all", "-@dangerous"}} {
		sound := r.started(1)
		p := r.open(user(t, r, rules...))
		for range 2 {
			_, err := p.trySync(both(1))
			if !errors.Is(err, redislog.ErrNoRunID) || !redis.IsPermissionError(err) {
				t.Errorf("Sync of a user with %v = %v, want %v for want of permission", rules, err, redislog.ErrNoRunID)
			}
		}
		sound.wantQuiet()
		r.do("ACL", "SETUSER", "u"+r.prefix, "+info")
		p.sync(both(2))
	}
}

// silent is a connection to a server that denies INFO to scripts: its scripts call a command that
// does not exist. It counts scripts that were not sent directly after an INFO.
type silent struct {
	net.Conn
	asked      bool
	unverified *atomic.Int64
	info       *atomic.Pointer[string] // the section to ask for instead
}

func (c *silent) Write(b []byte) (int, error) {
	n := len(b)
	lower := bytes.ToLower(b)
	if bytes.Contains(lower, []byte("\r\nevalsha\r\n")) && !c.asked {
		c.unverified.Add(1)
	}
	c.asked = bytes.Contains(lower, []byte("\r\ninfo\r\n"))
	if section := c.info.Load(); section != nil {
		b = bytes.Replace(b, []byte("\r\nserver\r\n"), []byte("\r\n"+*section+"\r\n"), 1)
	}
	b = bytes.ReplaceAll(b, []byte("pcall('INFO', 'server'"), []byte("pcall('ONFI', 'server'"))
	_, err := c.Conn.Write(b)
	return n, err
}

// silence returns a dialer to such a server.
func silence() (dial func(ctx context.Context, network, addr string) (net.Conn, error), c *silent) {
	c = &silent{unverified: new(atomic.Int64), info: new(atomic.Pointer[string])}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &silent{Conn: conn, unverified: c.unverified, info: c.info}, err
	}, c
}

func TestInfoDeniedToScripts(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--dbfilename", "dump.rdb"))
	opts := r.server.Options()
	var c *silent
	opts.Dialer, c = silence()
	var log bytes.Buffer
	l := newLog(t, closed(t, redis.NewClient(opts)), redislog.Config{
		Prefix: r.prefix, Bound: patient, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	p := &process{t: t, log: l}
	p.wantBump()
	sound := r.process()
	sound.sync(both(1))
	p.sync(both(2))
	sound.wantNews(1)
	sound.wantQuiet() // both ways find the same run id
	if n := c.unverified.Load(); n != 1 {
		t.Errorf("%d scripts were sent without a run id just read, want the first", n)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, &log)
	}
	r.do("SAVE")
	r.server.Restart(t)
	redistest.Eventually(t, "the log does not come back", func(context.Context) error {
		_, err := p.trySync(invalidate.Append{})
		return err
	})
	if last := p.keys[len(p.keys)-1]; !last.Bump {
		t.Errorf("after a restart the log ends with %+v, want a bump", last)
	}
	section := "memory"
	c.info.Store(&section)
	if _, err := p.trySync(both(3)); !errors.Is(err, redislog.ErrNoRunID) {
		t.Errorf("Sync where INFO has no run id = %v, want %v", err, redislog.ErrNoRunID)
	}
}

// wantNews checks how many records of keys are new.
func (p *process) wantNews(n int) {
	p.t.Helper()
	if keys, _ := p.news(); len(keys) != n {
		p.t.Errorf("read %v, want %d records", keys, n)
	}
}

func TestInfoDeniedToScriptsOfACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2)
	opts := c.Options()
	opts.Dialer, _ = silence()
	prefix := redistest.Prefix()
	owner := c.Owner(t, "{"+prefix+"}:m")
	r := &rig{t: t, server: owner, prefix: prefix}
	p := r.open(closed(t, redis.NewClusterClient(opts)))
	p.sync(both(1))
	other := r.open(c.Client())
	other.sync(both(2))
	p.wantNews(1)
	p.wantQuiet()
	moveLog(t, c, prefix)
	redistest.Eventually(t, "the moved log is not found", func(context.Context) error {
		_, err := p.trySync(both(3))
		return err
	})
	wantDense(t, "keys", p.keys, map[uint64]bool{1: true, 2: true, 3: true})
}
