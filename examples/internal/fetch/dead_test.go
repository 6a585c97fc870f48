package fetch_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func dialError(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// No caller requests a host that does not answer, for a while. A host with bad answers is
// not affected.
func TestDeadHosts(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		want   error
		detail string
		dead   bool
	}{
		"refused":      {dialError(os.NewSyscallError("connect", syscall.ECONNREFUSED)), fetch.ErrConnect, "connection refused", true},
		"unreachable":  {dialError(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), fetch.ErrConnect, "no route to host", true},
		"dial timeout": {dialError(os.ErrDeadlineExceeded), fetch.ErrConnect, "dial timed out", true},
		"no name":      {dialError(&net.DNSError{Err: "no such host", Name: "a.example", IsNotFound: true}), fetch.ErrConnect, "no such host", true},
		"name server":  {dialError(&net.DNSError{Err: "server misbehaving", Name: "a.example", IsTemporary: true}), fetch.ErrConnect, "name server failed", true},
		"private":      {dialError(fetch.ErrPrivateAddress), fetch.ErrPrivateAddress, "", false},
		"reset":        {&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, fetch.ErrProtocol, "", false},
		"rubbish":      {errors.New("malformed"), fetch.ErrProtocol, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				remote := tiertest.NewMemory()
				transport := wire(func(*http.Request) (*http.Response, error) {
					asked++
					return nil, tt.err
				})
				c := newClient(t, fetch.Config{Tiers: newTiers(t, remote), Transport: transport, DeadFor: time.Minute})
				other := newClient(t, fetch.Config{Tiers: newTiers(t, remote), Transport: transport, DeadFor: time.Minute})
				_, err := c.Get(t.Context(), fetch.Request{URL: "http://a.example/1?token=x"})
				want := "fetch: http://a.example/1: " + tt.want.Error()
				if tt.detail != "" {
					want += ": " + tt.detail
				}
				if !errors.Is(err, tt.want) || !errors.Is(err, tt.err) || err.Error() != want {
					t.Fatalf("Get = %v, want %q that wraps %v", err, want, tt.err)
				}
				_, err = c.Get(t.Context(), fetch.Request{URL: "http://a.example/2"})
				_, err2 := other.Get(t.Context(), fetch.Request{URL: "http://A.example:80/3"})
				if errors.Is(err, fetch.ErrDeadHost) != tt.dead || errors.Is(err2, fetch.ErrDeadHost) != tt.dead {
					t.Errorf("Get = %v, in another process %v; dead %v", err, err2, tt.dead)
				}
				if _, err := c.Get(t.Context(), fetch.Request{URL: "http://a.example:8080/"}); errors.Is(err, fetch.ErrDeadHost) {
					t.Errorf("another port is dead as well: %v", err)
				}
				before := asked
				advance(61 * time.Second)
				_, err = c.Get(t.Context(), fetch.Request{URL: "http://a.example/2"})
				if !errors.Is(err, tt.want) || asked != before+1 {
					t.Errorf("after a minute Get = %v, want %v again", err, tt.want)
				}
			})
		})
	}
}
