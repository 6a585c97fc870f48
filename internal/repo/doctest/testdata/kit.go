// Package kit is compiled together with the snippets of each Markdown file. It has the types and
// functions that the guides take for granted. The methods of env are the names that a block of
// statements may use: a block that uses users gets users := env.users().
package kit

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/redistier"
)

var redisAddr = os.Getenv("DOCTEST_REDIS")

// User is the value that most guides cache.
type User struct {
	ID        int64
	Name, Org string
}

var people = map[int64]User{
	1: {1, "Ada", "7"}, 2: {2, "Grace", "7"}, 42: {42, "Charles", "8"},
}

// loadUser stands for a query by primary key.
func loadUser(_ context.Context, id int64) (User, error) {
	u, ok := people[id]
	if !ok {
		return u, sql.ErrNoRows
	}
	return u, nil
}

// loadUsers stands for a query by several keys.
func loadUsers(ctx context.Context, ids []int64) (map[int64]User, error) {
	found := map[int64]User{}
	for _, id := range ids {
		if u, err := loadUser(ctx, id); err == nil {
			found[id] = u
		}
	}
	return found, nil
}

// chat stands for the client of a model. It gives each word to token, if that is not nil, and returns the
// text, why the model stopped, and the tokens that it counted.
func chat(ctx context.Context, _, _, prompt string, _ float64, _ int, token func(string)) (text, finish string, in, out int, err error) {
	words := []string{"a ", "small ", "answer"}
	for _, w := range words {
		if text += w; token != nil {
			token(w)
		}
	}
	return text, "stop", len(strings.Fields(prompt)), len(words), ctx.Err()
}

var errDown = errors.New("the source is down")

// env provides what one block of statements may use.
type env struct {
	t     *testing.T
	names map[string]any
	mu    sync.Mutex
}

func newEnv(t *testing.T) *env { return &env{t: t, names: map[string]any{}} }

// end closes the tiers and clients that variables still hold, and fails the test for an error. A
// block with an expected output passes nil first: its output decides whether it succeeded.
func (e *env) end(left ...any) {
	for _, x := range left {
		if tiers, ok := x.(*cache.Tiers); ok {
			e.check(closeAll(tiers))
		}
	}
	for _, x := range left {
		if err, ok := x.(error); ok && left[0] != nil {
			e.t.Errorf("the block ends with an error: %v", err)
		}
		if rdb, ok := x.(*redis.Client); ok {
			_ = rdb.Close()
		}
	}
}

func once[T any](e *env, name string, make func() T) T {
	e.mu.Lock()
	v, ok := e.names[name]
	e.mu.Unlock()
	if ok {
		return v.(T)
	}
	made := make()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names[name] = made
	return made
}

func (e *env) check(err error) {
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) ctx() context.Context { return e.t.Context() }

// registry returns the registry from which Prometheus reads metrics.
func (e *env) registry() *prometheus.Registry { return prometheus.NewRegistry() }

// rdb returns a client of the Redis server.
func (e *env) rdb() *redis.Client {
	return once(e, "rdb", func() *redis.Client {
		rdb := redis.NewClient(redistier.Options(&redis.Options{Addr: redisAddr}))
		e.t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	})
}

// tiers returns two tiers and a log on Redis.
func (e *env) tiers() *cache.Tiers {
	return once(e, "tiers", func() *cache.Tiers {
		tiers, err := cache.Open(cache.TiersConfig{
			Remote:         redistier.New(e.rdb(), redistier.Config{Prefix: e.prefix()}),
			Log:            redislog.New(e.rdb(), redislog.Config{Prefix: e.prefix()}),
			InvalidateWait: 10 * time.Second, // a busy machine is no outage
			Policies:       policy.Table{{Patch: policy.Patch{RemoteTimeout: new(5 * time.Second)}}},
		})
		e.check(err)
		e.t.Cleanup(func() { e.check(closeAll(tiers)) })
		e.check(tiers.Ready(e.ctx()))
		return tiers
	})
}

// closeAll calls Close with a deadline of two seconds.
func closeAll(tiers *cache.Tiers) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return tiers.Close(ctx)
}

// users returns the cache of loadUser, on tiers.
func (e *env) users() cache.Cache[int64, User] {
	return once(e, "users", func() cache.Cache[int64, User] {
		cfg := cache.For("users", cache.NotFoundIs(loadUser, sql.ErrNoRows))
		cfg.Tags = func(_ int64, u User) []string { return []string{"org:" + u.Org} }
		users, err := cache.New(e.tiers(), cfg)
		e.check(err)
		return users
	})
}

// db returns an SQLite database with a table of users.
func (e *env) db() *sql.DB {
	return once(e, "db", func() *sql.DB {
		const mode = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"
		db, err := sql.Open("sqlite", "file:"+filepath.Join(e.t.TempDir(), "app.db")+mode)
		e.check(err)
		db.SetMaxOpenConns(1)
		e.t.Cleanup(func() { _ = db.Close() })
		_, err = db.Exec(`CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, org TEXT);
			INSERT INTO users VALUES (42, 'Charles', '8')`)
		e.check(err)
		return db
	})
}

// prefix returns a prefix for this block only: blocks must not invalidate each other's users.
func (e *env) prefix() string {
	return once(e, "prefix", func() string { return rand.Text() })
}
