package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
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

// A new attempt asks a host that did not answer the one before. Its own failures count.
func TestAnew(t *testing.T) {
	for _, path := range []string{"/page", "/robots.txt"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, down := 0, true
				c := newClient(t, fetch.Config{Transport: wire(func(*http.Request) (*http.Response, error) {
					if asked++; down {
						return nil, dialError(os.ErrDeadlineExceeded)
					}
					return reply(200, "User-agent: *\nDisallow: /x"), nil
				})})
				ask := func(ctx context.Context) (err error) {
					if path == "/robots.txt" {
						_, err = c.Robots(ctx, "http://a.example/")
					} else {
						_, err = c.Get(ctx, fetch.Request{URL: "http://a.example" + path})
					}
					return err
				}
				expect := func(ctx context.Context, requests int, well bool) {
					t.Helper()
					before := asked
					if err := ask(ctx); (err == nil) != well || asked-before != requests {
						t.Errorf("%d requests, %v; want %d, well %v", asked-before, err, requests, well)
					}
				}
				first := fetch.Anew(t.Context())
				expect(first, 1, false)
				expect(first, 0, false)
				advance(10 * time.Second)
				expect(t.Context(), 0, false)
				second := fetch.Anew(t.Context())
				expect(second, 1, false)
				advance(55 * time.Second) // the failure of the first is a minute old, that of the second is not
				expect(second, 0, false)
				down = false
				expect(t.Context(), 0, false)
				expect(fetch.Anew(t.Context()), 1, true)
			})
		})
	}
}

// A host name that does not resolve is dead. Other names of the server are not.
func TestDeadSpelling(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "alive") })
	c := local(t)
	odd := strings.Replace(o.URL, "127.0.0.1", "127.0.0.1.", 1)
	for i, want := range []error{fetch.ErrConnect, fetch.ErrDeadHost} {
		if _, err := c.Get(t.Context(), fetch.Request{URL: odd}); !errors.Is(err, want) {
			t.Errorf("Get %d of %s = %v, want %v", i, odd, err, want)
		}
	}
	if resp := get(t, c, fetch.Request{URL: o.URL}); string(resp.Body) != "alive" {
		t.Errorf("Get = %q", resp.Body)
	}
}

// Requests in the queue of a host that turns out to be dead do not try it again.
func TestQueueOfADeadHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := newClient(t, fetch.Config{PerHost: 1, Transport: wire(func(*http.Request) (*http.Response, error) {
			asked++
			<-time.After(10 * time.Second)
			return nil, dialError(os.ErrDeadlineExceeded)
		})})
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, err := c.Get(t.Context(), fetch.Request{URL: fmt.Sprintf("http://a.example/%d", i)}); err == nil {
					t.Error("Get of a dead host = nil")
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); asked != 1 || took != 10*time.Second {
			t.Errorf("asked %d times in %v, want once in 10s", asked, took)
		}
	})
}

// A real port without a listener.
func TestRefusedConnection(t *testing.T) {
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	o.Close()
	c := local(t)
	for i, want := range []error{fetch.ErrConnect, fetch.ErrDeadHost} {
		if _, err := c.Get(t.Context(), fetch.Request{URL: o.URL}); !errors.Is(err, want) {
			t.Errorf("Get %d = %v, want %v", i, err, want)
		}
	}
}
