package rediserr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/rediserr"
)

// reply is an error that a server answered.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// Texts of Redis 3.2, 4.0, 6.0 and 6.2 for what they cannot do. The error names the version.
func TestOldServers(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "cache.example:6379"})
	defer func() { _ = rdb.Close() }()
	for _, tt := range []struct {
		text string
		old  bool
	}{
		{"ERR Error running script (call to f_0c): @user_script:120: @user_script: 120: Invalid stream ID specified as stream command argument ", true},
		{"ERR Error running script (call to f_0c): @user_script:9: @user_script: 9: Write commands not allowed after non deterministic commands. Call redis.replicate_commands() at the start of your script", true},
		{"ERR Error running script (call to f_0c): @user_script:9: @user_script: 9: Unknown Redis command called from Lua script ", true},
		{"ERR unknown command 'UNLINK'", true},
		{"ERR unknown command `XREAD`, with args beginning with: `BLOCK`, ", true},
		{"ERR value is not an integer or out of range", false},
		{"WRONGTYPE Operation against a key holding the wrong kind of value", false},
	} {
		err := rediserr.Denied(rdb, fmt.Errorf("call: %w", reply(tt.text)))
		if (err != nil) != tt.old {
			t.Errorf("%s: Denied = %v, want a reason: %v", tt.text, err, tt.old)
		}
		if tt.old && (!strings.Contains(err.Error(), "the server at cache.example:6379 is older than Redis 6.2") || !errors.Is(err, reply(tt.text))) {
			t.Errorf("%s: Denied = %v, want the server and the version, and the server's error in reach", tt.text, err)
		}
	}
}
