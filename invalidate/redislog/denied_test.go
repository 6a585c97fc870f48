package redislog_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// Sync and Tail say what is wrong with the client's options, and wrap the server's error. A
// client that has not logged in gets a protocol error from the server instead.
func TestDenied(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Args("--maxclients", "1000")) // a server of its own
	s.Do(t, "ACL", "SETUSER", "bob", "on", ">secret", "~*", "+@connection", "+get")
	s.Do(t, "ACL", "SETUSER", "eve", "on", ">secret", "~other:*", "+@all")
	s.Do(t, "ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all", "-hset")
	s.Do(t, "CONFIG", "SET", "requirepass", "secret")
	for who, c := range map[string]struct {
		user, password, want string
		is                   func(error) bool
	}{
		"nobody":         {"", "", "wants a password (NOAUTH): set Password in the client's options", redis.IsAuthError},
		"wrong password": {"", "guess", "refuses the password or the user (WRONGPASS): correct Username and Password in the client's options", redis.IsAuthError},
		"command":        {"bob", "secret", "does not let the client's user run EVALSHA (NOPERM): allow it with ACL SETUSER", redis.IsPermissionError},
		"keys":           {"eve", "secret", "does not let the client's user touch these keys (NOPERM): allow names that begin with Prefix with ACL SETUSER", redis.IsPermissionError},
		"in a script":    {"ann", "secret", "does not let the client's user run a command that a script needs: allow the documented commands with ACL SETUSER", nil},
	} {
		t.Run(who, func(t *testing.T) {
			opts := s.Options()
			opts.Username, opts.Password = c.user, c.password
			log := redislog.New(closed(t, redis.NewClient(opts)), redislog.Config{Prefix: "app", Bound: patient})
			defer log.Close()
			_, err := log.Sync(t.Context(), invalidate.Cursor{}, both(1))
			want := "redislog: the server at " + s.Addr() + " " + c.want
			if err == nil || err.Error() != want || c.is != nil && !c.is(err) {
				t.Errorf("Sync = %v, want %s; and the server's own error inside", err, want)
			}
			if c.is == nil || who == "command" {
				return
			}
			log = redislog.New(closed(t, redis.NewClient(opts)), redislog.Config{Prefix: "app", Bound: patient})
			defer log.Close() // the server has closed the other's connection
			if _, err := log.Tail(t.Context(), invalidate.Cursor{}); err == nil || !strings.HasPrefix(err.Error(), want) || !c.is(err) {
				t.Errorf("Tail = %v, want %s", err, want)
			}
		})
	}
}
