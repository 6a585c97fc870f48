package fetch_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// The addresses at the edges of the refused ranges, and those next to them.
func TestAllowedAddresses(t *testing.T) {
	const never, own, public = "never", "with AllowPrivate", "always"
	for _, tt := range []struct{ want, addresses string }{
		{never, "0.0.0.0 0.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 192.0.0.1 192.0.0.255 192.0.2.1 192.88.99.1"},
		{never, "198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255"},
		{never, ":: ::7f00:1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1 2001:2::1 2001:db8::1 2002:7f00:1:: 3fff::1"},
		{never, "4000::1 5f00::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 ::ffff:169.254.169.254 ::ffff:0.0.0.0"},
		{own, "127.0.0.1 127.255.255.255 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 100.64.0.1 100.127.255.255"},
		{own, "::1 fc00::1 fdff::1"},
		{public, "1.1.1.1 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.1"},
		{public, "172.15.255.255 172.32.0.1 192.0.1.1 192.0.3.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255"},
		{public, "2000::1 2001:200::1 2606:4700::1111 2a00:1450::1 3ffe::1"},
	} {
		for a := range strings.FieldsSeq(tt.addresses) {
			if got, want := fetch.Allowed(a, false), tt.want == public; got != want {
				t.Errorf("Allowed(%s) = %v, want %v", a, got, want)
			}
			if got, want := fetch.Allowed(a, true), tt.want != never; got != want {
				t.Errorf("Allowed(%s) with AllowPrivate = %v, want %v", a, got, want)
			}
		}
	}
}

// Anything that is not an address is refused.
func TestGuardRefusesTheUnknown(t *testing.T) {
	for _, tt := range []struct {
		network, address string
		want             error
	}{
		{"tcp4", "1.1.1.1:443", nil},
		{"tcp6", "[2606:4700::1111]:443", nil},
		{"tcp4", "127.0.0.1:443", fetch.ErrPrivateAddress},
		{"unix", "/run/docker.sock", fetch.ErrPrivateAddress},
		{"udp4", "1.1.1.1:53", fetch.ErrPrivateAddress},
		{"tcp4", "a.example:443", fetch.ErrPrivateAddress},
	} {
		if err := fetch.Guard(tt.network, tt.address); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("guard(%s, %s) = %v, want %v", tt.network, tt.address, err, tt.want)
		}
	}
}

// A local server cannot be reached by its address, by a name that resolves to it, or mapped
// into IPv6. The guard refuses the connection itself, so an earlier resolution of the name
// does not matter.
func TestPrivateServerIsNotReached(t *testing.T) {
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(o.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, fetch.Config{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]"} {
		_, err := c.Get(t.Context(), fetch.Request{URL: "http://" + host + ":" + port + "/?token=secret"})
		if !errors.Is(err, fetch.ErrPrivateAddress) {
			t.Errorf("Get from %s = %v, want %v", host, err, fetch.ErrPrivateAddress)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error %q shows the query", err)
		}
	}
	if n := len(o.asked()); n != 0 {
		t.Errorf("the server got %d requests", n)
	}
}

func TestRefusedRequests(t *testing.T) {
	c := newClient(t, fetch.Config{Transport: wire(func(*http.Request) (*http.Response, error) { return reply(200, ""), nil })})
	for _, tt := range []struct {
		name string
		r    fetch.Request
		want error
	}{
		{"nothing", fetch.Request{}, fetch.ErrScheme},
		{"relative", fetch.Request{URL: "/feed"}, fetch.ErrScheme},
		{"scheme", fetch.Request{URL: "ftp://a.example/"}, fetch.ErrScheme},
		{"data", fetch.Request{URL: "data:text/plain,x"}, fetch.ErrScheme},
		{"opaque", fetch.Request{URL: "http:a.example"}, fetch.ErrURL},
		{"no host", fetch.Request{URL: "http:///x"}, fetch.ErrURL},
		{"port alone", fetch.Request{URL: "http://:80/x"}, fetch.ErrURL},
		{"user", fetch.Request{URL: "https://secret:secret@a.example/"}, fetch.ErrURL},
		{"control character", fetch.Request{URL: "https://a.example/\nsecret"}, fetch.ErrURL},
		{"ssh", fetch.Request{URL: "http://a.example:22/"}, fetch.ErrPort},
		{"no port", fetch.Request{URL: "http://a.example:/"}, fetch.ErrPort},
		{"a port too high", fetch.Request{URL: "http://a.example:65536/"}, fetch.ErrPort},
		{"http over 443", fetch.Request{URL: "http://a.example:443/"}, nil},
		{"high port", fetch.Request{URL: "http://a.example:1024/"}, nil},
		{"upper case", fetch.Request{URL: "HTTPS://A.example/"}, nil},
		{"umlauts and blanks", fetch.Request{URL: "https://bücher.example/ä b?ü=ä b"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Get(t.Context(), tt.r)
			if !errors.Is(err, tt.want) {
				t.Errorf("Get = %v, want %v", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error %q tells a secret", err)
			}
		})
	}
}
