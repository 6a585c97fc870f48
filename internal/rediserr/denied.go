package rediserr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Denied returns an error that says why the server does not let a client in, or not do
// what it asks for, and what to change. It wraps what the server said. When err is about
// something else, Denied returns nil.
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

// deniedError does not quote the server: it may have quoted what it was sent.
type deniedError struct {
	text string
	err  error
}

func (e *deniedError) Error() string { return e.text }
func (e *deniedError) Unwrap() error { return e.err }

// Denial returns the text, which is fit for logs.
func (e *deniedError) Denial() string { return e.text }

// reason says what an error text of the server's means for the client's options; "" when
// it is not about rights. From a client without a password the server takes small
// commands only, so it calls a large one a protocol error rather than NOAUTH.
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
	}
	return ""
}

// sentinels is what go-redis puts for the address of a client that asks Sentinels.
const sentinels = "FailoverClient"

// nameOf names the server that a client talks to.
func nameOf(rdb redis.UniversalClient) string {
	switch c := rdb.(type) {
	case interface{ Options() *redis.Options }:
		if addr := c.Options().Addr; addr != sentinels {
			return "the server at " + addr
		}
		return "the server behind the Sentinels"
	case interface{ Options() *redis.ClusterOptions }:
		return "the cluster at " + strings.Join(c.Options().Addrs, ", ")
	}
	return "the server"
}
