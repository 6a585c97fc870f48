package rediserr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Denied returns an error that says why the server refuses a client or a command, and what to
// change. It wraps the server's error. If err has another cause, Denied returns nil.
func Denied(rdb redis.UniversalClient, err error) error {
	said, ok := errors.AsType[redis.Error](err)
	if !ok {
		return nil
	}
	why := reason(said.Error())
	if why == "" {
		return nil
	}
	return &deniedError{text: nameOf(rdb) + " " + why, err: said}
}

// deniedError does not quote the server's text, which may quote the client's arguments.
type deniedError struct {
	text string
	err  error
}

func (e *deniedError) Error() string { return e.text }
func (e *deniedError) Unwrap() error { return e.err }

// Denial returns the text, which is safe for logs.
func (e *deniedError) Denial() string { return e.text }

// reason explains a server's error text in terms of the client's options. It returns "" if the
// error is not about rights. From a client without a password the server accepts only small
// commands: it reports a large one as a protocol error rather than NOAUTH.
func reason(text string) string {
	switch code, rest, _ := strings.Cut(text, " "); {
	case code == "NOAUTH", strings.Contains(text, "Protocol error: unauthenticated"):
		return "wants a password (NOAUTH): set Password in the client's options"
	case code == "WRONGPASS":
		return "refuses the password or the user (WRONGPASS): correct Username and Password in the client's options"
	case code == "NOPERM":
		if _, command, ok := strings.Cut(rest, "'"); ok {
			command, _, _ = strings.Cut(command, "'")
			return fmt.Sprintf("does not let the client's user run %s (NOPERM): allow it with ACL SETUSER", strings.ToUpper(command))
		}
		return "does not let the client's user touch these keys (NOPERM): allow names that begin with Prefix with ACL SETUSER"
	case strings.HasPrefix(text, "ERR The user executing the script can't run"):
		return "does not let the client's user run a command that a script needs: allow the documented commands with ACL SETUSER"
	case strings.HasPrefix(text, "ERR The user executing the script can't access"):
		return "does not let the client's user touch the keys of a script: allow names that begin with Prefix with ACL SETUSER"
	case tooOld(text):
		return "is older than Redis 6.2, or lacks a command of it: use Redis 6.2 or newer, or Valkey"
	}
	return ""
}

// tooOld reports whether a server refuses what Redis 6.2 can do: XRANGE that leaves out its first
// id, scripts that write after they read the clock, or a command.
func tooOld(text string) bool {
	return strings.Contains(text, "Invalid stream ID") || strings.Contains(text, "after non deterministic commands") ||
		strings.HasPrefix(text, "ERR unknown command") || strings.Contains(text, "Unknown Redis command called from")
}

// nameOf names the server that a client uses.
func nameOf(rdb redis.UniversalClient) string {
	switch c := rdb.(type) {
	case interface{ Options() *redis.Options }:
		if addr := c.Options().Addr; addr != Sentinels {
			return "the server at " + addr
		}
		return "the server behind the Sentinels"
	case interface{ Options() *redis.ClusterOptions }:
		return "the cluster at " + strings.Join(c.Options().Addrs, ", ")
	}
	return "the server"
}
